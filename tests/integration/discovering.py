"""What the tests of whole runs share: a configuration that discovers, and the stages of a run as its accounting and the endpoint saw them."""
import json

from answering import Between
from planted_texts import feature_of
from vqtest import DONE, Case

# the terms of the call-count formula, by the stages that they are made of
TERMS = {"discovery": ("discover", "differences", "formalise differences"), "reduction": ("summarise", "formalise summaries", "simplify", "reduce"),
         "dedup": ("dedup",), "train": ("rank",), "test": ("test",), "preference": ("prefer",), "embedding": ("embed", "embed proposals"),
         "types": ("question types",), "presets": ("presets",)}


def term_of(stage):
    name = stage.split(",")[0].rstrip("0123456789").strip()
    return next(term for term, stages in TERMS.items() if name in stages)


class Discover(Case):
    def between(self, url, change=None):
        proxy = Between(url, change)
        self.servers.append(proxy)
        return proxy

    def discover(self, url=None, judges=2, name="discover.yaml", **keys):
        """Writes a configuration over data.csv; other keys are `section__key=value` or `key=value`."""
        endpoint = f", base_url: {url}, identity: the-test, concurrency: {keys.pop('concurrency', 16)}" if url else ""
        lines = ["models: [alpha, beta]", "method: discover", "judges:"]
        lines += [f"  - {{model: {model}{endpoint}}}" for model in ("offline-a", "offline-b", "offline-c")[:judges]]
        if url and "embedder" not in keys:
            lines += [f"embedder: {{model: offline-embed{endpoint}}}"]
        sections = {"data": {"path": "data.csv"}, "vibecheck": {"d": 12, "batch": 4, "iterations": 2, "min_misclassified": 1}}
        for key, value in keys.items():
            section, _, key = key.rpartition("__")
            if section:
                sections.setdefault(section, {})[key] = value
            else:
                lines += [f"{key}: {value}"]
        for section, values in sections.items():
            lines += [f"{section}: {{{', '.join(f'{k}: {v}' for k, v in values.items())}}}"]
        (self.dir / name).write_text("\n".join(lines) + "\n")
        return name

    def run_it(self, name="r", *words, config="discover.yaml", code=DONE, **more):
        return self.vibeq("run", config, "--name", name, *words, code=code, **more)

    def stages(self, run):
        return json.loads((self.dir / "runs" / run / "accounting.json").read_text())["stages"]

    def planned(self, run):
        """Planned calls by term of the formula."""
        total = {}
        for stage in self.stages(run):
            term = term_of(stage["name"])
            total[term] = total.get(term, 0) + stage["planned"]
        return total

    def vibes(self, run):
        return {v["name"]: v for v in self.results(run)["vibes"]}

    @staticmethod
    def feature(vibe):
        return feature_of(f"{vibe['name']}: {vibe['low']} {vibe['high']}")
