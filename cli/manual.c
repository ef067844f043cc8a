/* One writer per format, each a walk over vq_verbs. The completion of a value follows from its name
 * in the help: DIR, FILE, or none. Not its job: the prose of the manual page
 * (deploy/man/vibeq.1.in). */
#include "cli/manual.h"

#include "cli/opts.h"

#include <stdio.h>
#include <string.h>

/* ---- roff ---- */

/* Escapes a text for roff: a minus must not become a hyphen, a backslash is no escape, and no line
 * begins with a request. */
static void roff(const char *text)
{
    bool line_start = true;
    for (const char *at = text; *at != '\0'; at++) {
        if (line_start && (*at == '.' || *at == '\'')) {
            fputs("\\&", stdout);
        }
        line_start = *at == '\n';
        if (*at == '\\') {
            fputs("\\e", stdout);
        } else if (*at == '-') {
            fputs("\\-", stdout);
        } else {
            putchar(*at);
        }
    }
}

static void man_option(const struct vq_opt *o)
{
    fputs(".TP\n.B ", stdout);
    roff("--");
    roff(o->name);
    if (o->arg != NULL) {
        fputs(" \\fI", stdout);
        roff(o->arg);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    roff(o->help);
    putchar('\n');
}

static void man_row(void *ctx, const char *word, const char *usage, const char *help)
{
    (void)ctx;
    (void)word;
    fputs(".TP\n.B ", stdout);
    roff(usage);
    putchar('\n');
    roff(help);
    putchar('\n');
}

static void man(void)
{
    for (const struct vq_verb *v = vq_verbs; v->name != NULL; v++) {
        fputs(".SS vibeq ", stdout);
        roff(v->name);
        putchar(v->usage[0] == '\0' ? '\n' : ' ');
        if (v->usage[0] != '\0') {
            roff(v->usage);
            putchar('\n');
        }
        roff(v->summary);
        fputs(".\n", stdout);
        if (v->more != NULL) {
            fputs(".PP\n", stdout);
            roff(v->more);
            putchar('\n');
        }
        if (v->rows != NULL) {
            v->rows(man_row, NULL);
        }
        for (const struct vq_opt *o = v->opts; o->name != NULL; o++) {
            man_option(o);
        }
    }
}

/* ---- completion ---- */

enum completes {
    COMPLETES_NO_VALUE,
    COMPLETES_FILE,
    COMPLETES_DIR,
    COMPLETES_NOTHING
};

static enum completes completes(const struct vq_opt *o)
{
    if (o->arg == NULL) {
        return COMPLETES_NO_VALUE;
    }
    return strcmp(o->arg, "FILE") == 0  ? COMPLETES_FILE
           : strcmp(o->arg, "DIR") == 0 ? COMPLETES_DIR
                                        : COMPLETES_NOTHING;
}

static void names_of(const struct vq_opt *opts, int which)
{
    for (const struct vq_opt *o = opts; o->name != NULL; o++) {
        if (which < 0 || completes(o) == (enum completes)which) {
            printf(" --%s", o->name);
        }
    }
}

static void verb_names(void)
{
    for (const struct vq_verb *v = vq_verbs; v->name != NULL; v++) {
        printf("%s%s", v == vq_verbs ? "" : " ", v->name);
    }
}

static void word_of_row(void *ctx, const char *word, const char *usage, const char *help)
{
    (void)ctx;
    (void)usage;
    (void)help;
    if (word != NULL) {
        printf(" %s", word);
    }
}

static void bash(void)
{
    fputs("# bash completion of vibeq, made from its tables of verbs and options\n\n"
          "_vibeq_runs() {\n"
          "    local run\n"
          "    for run in \"${VIBEQ_RUNS:-runs}\"/*/run.yaml; do\n"
          "        [ -e \"$run\" ] && run=${run%/run.yaml} && echo \"${run##*/}\"\n"
          "    done\n"
          "}\n\n"
          "_vibeq() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local options= files= folders= others= words= commands= verbs='",
          stdout);
    verb_names();
    fputs("'\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$word\")\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n",
          stdout);
    for (const struct vq_verb *v = vq_verbs; v->name != NULL; v++) {
        printf("    %s)\n        options='--help", v->name);
        names_of(v->opts, -1);
        fputs("' files='", stdout);
        names_of(v->opts, COMPLETES_FILE);
        fputs(" ' folders='", stdout);
        names_of(v->opts, COMPLETES_DIR);
        fputs(" ' others='", stdout);
        names_of(v->opts, COMPLETES_NOTHING);
        printf(" ' words='%s'", v->words == NULL ? "" : v->words);
        if (v->rows != NULL) {
            fputs(" commands='", stdout);
            v->rows(word_of_row, NULL);
            putchar('\'');
        }
        fputs(" ;;\n", stdout);
    }
    fputs("    esac\n"
          "    if [[ $files == *\" $before \"* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "    elif [[ $folders == *\" $before \"* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
          "    elif [[ $others == *\" $before \"* ]]; then\n"
          "        :\n"
          "    elif [[ $word == -* ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
          "    elif [[ -n $commands && $COMP_CWORD -eq 3 ]]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$word\")\n"
          "    else\n"
          "        case $words in\n"
          "        FILE) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
          "        RUN) mapfile -t COMPREPLY < <(compgen -W \"$(_vibeq_runs)\" -- \"$word\") ;;\n"
          "        VERB) mapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$word\") ;;\n"
          "        ?*) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\") ;;\n"
          "        esac\n"
          "    fi\n"
          "}\n\n"
          "complete -o filenames -F _vibeq vibeq\n",
          stdout);
}

/* Escapes a text inside '...[TEXT]...' of zsh's _arguments. */
static void zsh_text(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\'') {
            fputs("'\\''", stdout);
        } else if (strchr("[]:\\", *at) != NULL) {
            printf("\\%c", *at);
        } else {
            putchar(*at);
        }
    }
}

static void zsh_option(const struct vq_opt *o)
{
    static const char *const actions[] = {
        [COMPLETES_FILE] = "_files", [COMPLETES_DIR] = "_files -/", [COMPLETES_NOTHING] = " "};
    bool repeatable = o->kind == VQ_OPT_LIST || o->kind == VQ_OPT_SPLIT;
    printf(" \\\n            '%s--%s%s[", repeatable ? "*" : "", o->name,
           o->arg == NULL ? "" : "=");
    zsh_text(o->help);
    putchar(']');
    if (o->arg != NULL) {
        putchar(':');
        zsh_text(o->arg);
        printf(":%s", actions[completes(o)]);
    }
    putchar('\'');
}

static void zsh_words(const struct vq_verb *verb)
{
    const char *words = verb->words;
    if (words == NULL) {
        return;
    }
    if (verb->rows != NULL) {
        printf(" \\\n            '1:%s:_vibeq_runs' '2:command:(", words);
        verb->rows(word_of_row, NULL);
        fputs(" )'", stdout);
        return;
    }
    const char *action = strcmp(words, "FILE") == 0   ? "_files"
                         : strcmp(words, "RUN") == 0  ? "_vibeq_runs"
                         : strcmp(words, "VERB") == 0 ? "_vibeq_verbs"
                                                      : NULL;
    if (action != NULL) {
        printf(" \\\n            '*:%s:%s'", words, action);
    } else {
        printf(" \\\n            '1:word:(%s)' '*:file:_files'", words);
    }
}

static void zsh(void)
{
    fputs("#compdef vibeq\n"
          "# zsh completion of vibeq, made from its tables of verbs and options\n\n"
          "_vibeq_runs() {\n"
          "    local -a runs\n"
          "    runs=(${VIBEQ_RUNS:-runs}/*/run.yaml(N:h:t))\n"
          "    compadd -a runs\n"
          "}\n\n"
          "_vibeq_verbs() {\n"
          "    local -a verbs\n"
          "    verbs=(",
          stdout);
    for (const struct vq_verb *v = vq_verbs; v->name != NULL; v++) {
        printf("\n        '%s:", v->name);
        zsh_text(v->summary);
        putchar('\'');
    }
    fputs("\n    )\n"
          "    _describe verb verbs\n"
          "}\n\n"
          "_vibeq() {\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _vibeq_verbs\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $words[1] in\n",
          stdout);
    for (const struct vq_verb *v = vq_verbs; v->name != NULL; v++) {
        printf("    %s)\n        _arguments '--help[explain the verb]'", v->name);
        for (const struct vq_opt *o = v->opts; o->name != NULL; o++) {
            zsh_option(o);
        }
        zsh_words(v);
        fputs(" ;;\n", stdout);
    }
    fputs("    esac\n}\n\n_vibeq \"$@\"\n", stdout);
}

int vq_manual(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } formats[] = {{"man", man}, {"bash", bash}, {"zsh", zsh}};
    for (size_t i = 0; argc == 1 && i < VQ_COUNT(formats); i++) {
        if (strcmp(argv[0], formats[i].name) == 0) {
            formats[i].write();
            return VQ_EXIT_DONE;
        }
    }
    return vq_cli_usage("", "the manual is written as man, bash or zsh");
}
