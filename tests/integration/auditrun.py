"""The audit of tests/tools over a copy of a real run, for tests that damage its records: in this process, which saves one for each damage."""
import contextlib
import importlib.machinery
import importlib.util
import io

from damaging import Damaging
from vqtest import ROOT

AUDIT = ROOT / "tests/tools/audit"
_loader = importlib.machinery.SourceFileLoader("audit_program", str(AUDIT))
audit_program = importlib.util.module_from_spec(importlib.util.spec_from_loader("audit_program", _loader))
_loader.exec_module(audit_program)  # a process less for each damage


class Audited(Damaging):
    def audit(self, *words, log=True):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = audit_program.main([str(w) for w in (self.run_dir, *(["--log", self.dir / "offline.log"] if log else []), *words)])
        return code, out.getvalue()

    def names(self, *texts, words=()):
        """The audit fails, and says each of the texts in a line before the last."""
        code, out = self.audit(*words)
        self.assertEqual(code, 1, out)
        self.assertTrue(out.rstrip().endswith("audit FAILED"), out)
        for text in texts:
            self.assertIn(text, out)
        return out

    def figures(self, out):
        return {w: int(n) for w, n in zip(out.split()[::2], out.split()[1::2]) if n.isdigit()}
