"""docs/method/method.md says what the code does, as far as a machine can tell: the constants it quotes are those of the sources, the defaults those of the
configuration, every warning and every status is on the page, and every name that it sets in code is one that exists."""
import re
import subprocess
import unittest

from vqtest import ROOT

PAGE = (ROOT / "docs" / "method" / "method.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())

# (source, its constant, how the page writes the value, a phrase of the page with {} for it)
CONSTANTS = [
    ("methods/stats/intervals/sign_flip.h", "VQ_SIGN_FLIP_EXACT_MAX", "{:.0f}", "all patterns for at most {} prompts with a mean that is not 0"),
    ("methods/stats/intervals/sign_flip.h", "VQ_SIGN_FLIP_DRAWS", "{:,.0f}", "else {} seeded patterns and p"),
    ("methods/stats/intervals/sign_flip.h", "VQ_SIGN_FLIP_VECTORS_EXACT_MAX", "{:.0f}", "all patterns for at most {} prompts, else"),
    ("methods/stats/intervals/separability.h", "VQ_VARIED_UNITS", "{:.0f}", "If fewer than {} prompts differ from the most common value"),
    ("methods/stats/intervals/separability.h", "VQ_VARIED_CELLS", "{:.0f}", "in which fewer than {} rows differ from the most common value"),
    ("methods/stats/logit/crossval.h", "VQ_CROSSVAL_GRID", "{:.0f}", "**C** is chosen from {} values"),
    ("methods/stats/logit/crossval.h", "VQ_CROSSVAL_FOLDS", "{:.0f}", "held-out log-loss over {} folds of prompts, the smallest C on ties"),
    ("methods/stats/logit/crossval.h", "VQ_CROSSVAL_FOLDS", "{:.0f}", "C by mean held-out log-loss over {} folds of prompts. With two models"),
    ("methods/stats/intervals/bootstrap.h", "VQ_BOOTSTRAP_DRAWS", "{:,.0f}", "percentile bootstrap over prompts ({} draws"),
    ("methods/vibecheck/numbers/vibecheck.h", "VQ_FIT_PROMPTS_MIN", "{:.0f}", "fewer than {} training prompts (`few_prompts`)"),
    ("methods/stats/ranking/davidson.h", "VQ_DAVIDSON_CLUSTERS_MIN", "{:.0f}", "**`few_prompts`**: Fewer than {} prompts: strengths alone"),
    ("methods/stats/intervals/powered.h", "VQ_POWERED_LABELLED_MIN", "{:.0f}", "Fewer than {} labelled prompts have no interval"),
    ("methods/stats/intervals/powered.c", "PSEUDO_LABELS", "{:.0f}", "vibeq adds {} / m^2 to the variance"),
    ("methods/stats/logit/length_controlled.h", "VQ_LENGTH_CONTROLLED_UNITS_MIN", "{:.0f}", "`few_prompts` (fewer than {}: no interval)"),
    ("methods/stats/intervals/power.h", "VQ_POWER_LEVEL", "{:.2f}", "the exact sign test of n prompts at level {} / V"),
    ("methods/stats/intervals/power.h", "VQ_POWER_SHARE", "{:.1f}", "V rejects with chance {}. Benjamini"),
    ("methods/stats/logit/multinomial.h", "VQ_MULTINOMIAL_CI_PARAMS_MAX", "{:.0f}", "`too_large` means more than {} coefficients"),
    ("methods/vibecheck/report/warnings.c", "COEF_ABS_MAX", "{:.0f}", "or a coefficient is above {}."),
    ("methods/vibecheck/report/warnings.c", "ROWS_PER_VIBE_MIN", "{:.0f}", "There are fewer than {} training rows per kept vibe"),
    ("methods/vibecheck/report/warnings.c", "AT_RANDOM_APART", "{:.2f}", "**`failures_shrink_separability`**: The estimate at random differs by more than {}."),
    ("methods/vibecheck/report/warnings.c", "PP_LEVEL", "{:.2f}", "PP's accuracy is not above 0.5, or its p is above {};"),
    ("methods/vibecheck/numbers/fits.c", "COMPLETE_CASE_WARNING", "{:.2f}", "over complete rows an accuracy differs by more than {};"),
    ("methods/vibecheck/recall.h", "VQ_RECALL_THRESHOLD", "{:.1f}", "from {} on (`--threshold`) they count as one"),
    ("methods/vibecheck/recall.h", "VQ_RECALL_THRESHOLD", "{:.1f}", "from {} on the vibe was *found again*"),
    ("methods/vibecheck/steps/prompts.h", "VQ_ROW_TEXT_BYTES_MAX", "{:,.0f}", "Texts over {} bytes are cut"),
    ("methods/vibecheck/steps/reduce.c", "GROUP_AXES_MAX", "{:.0f}", "of at most {} drawn axes"),
    ("methods/vibecheck/steps/reduce.c", "REDUCE_TRIES", "{:.0f}", "the reducer shortens it, at most {} times"),
    ("methods/grid/stage_grid.c", "ROOM_TOKENS_MAX", "{:,.0f}", "output tokens (at most {})"),
]
WORDS = {"3": "three", "5": "five", "10": "ten"}

# (key of the configuration, a phrase of the page with {} for its default)
DEFAULTS = [
    ("vq_conf_gates, separability_min", "|separability| > {} (`interval`: q <= 0.05 too)"),
    ("vq_conf_gates, kappa_min", "kappa or kappa_mirrored >= {} with two judges or more"),
    ("vq_conf_gates, overlap_max", "over the rows that both have) <= {}, off for preset runs"),
    ("vq_conf_data, near_duplicate", "or {} % the same by longest common subsequence"),
]


def source(path):
    return (ROOT / path).read_text(encoding="utf-8")


def number(path, name):
    text = re.search(rf"#define {name}\s*\\?\s*\(*(?:\(size_t\))?([0-9.e+-]+)", source(path)).group(1)
    return float(text)


class MethodPage(unittest.TestCase):
    def holds(self, phrase, value):
        forms = {value, WORDS.get(value, value)}
        self.assertTrue(any(phrase.format(form) in TEXT for form in forms), f"the page does not say: {phrase.format(value)}")

    def test_constants_are_those_of_the_sources(self):
        for path, name, form, phrase in CONSTANTS:
            self.holds(phrase, form.format(number(path, name)))

    def test_defaults_are_those_of_the_configuration(self):
        table = (ROOT / "common/conf/config_keys.def").read_text(encoding="utf-8")
        for key, phrase in DEFAULTS:
            default = re.search(rf'\({"[A-Z]+"}, {key}, "\w+", "([^"]*)"', table).group(1)
            self.holds(phrase, default)

    def test_every_warning_is_on_the_page_and_no_other(self):
        code = source("methods/vibecheck/report/warnings.c")
        made = set(re.findall(r'\b(?:say|about_vibes)\(\s*m, "(\w+)"', code))
        made |= set(re.findall(r'"(fit_\w+)"', code))
        self.assertGreater(len(made), 25)
        chapter = PAGE.split("## 9. Warnings")[1].split("\n## ")[0]
        told = {word for row in re.findall(r"^- \*\*(`.*?)\*\*:", chapter, re.MULTILINE | re.DOTALL) for word in re.findall(r"`(\w+)`", row)}
        self.assertEqual(made, told)

    def test_every_status_is_on_the_page(self):
        for path, array in (("methods/stats/ranking/davidson.c", "vq_davidson_status_name"), ("methods/stats/logit/length_controlled.c", "vq_length_controlled_name"),
                            ("methods/vibecheck/numbers/vibecheck.c", "vq_fit_degenerate_name")):
            body = source(path).split(array)[1].split("\n}")[0]
            for word in re.findall(r'"(\w+)"', body):
                if word not in ("no",):
                    self.assertIn(f"`{word}`", PAGE, path)

    def test_every_name_in_code_exists(self):
        files = subprocess.run(["git", "ls-files", "common", "coordinator", "methods", "cli", "offline", "worker", "prompts", "tests/unit", "docs/use/config.md"], cwd=ROOT,
                               check=True, capture_output=True, text=True).stdout.split()
        everything = "\n".join((ROOT / name).read_text(encoding="utf-8", errors="replace") for name in files if (ROOT / name).is_file())
        fences = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
        for name in sorted(set(re.findall(r"`([a-z][\w.]*_\w+|[a-z]+\.[a-z_]+)`", fences))):
            words = name.removeprefix("unit.").split(".")
            for word in words:
                self.assertIn(word, everything, f"`{name}` is nowhere in the sources")


if __name__ == "__main__":
    unittest.main(verbosity=2)
