"""The parts of tests/tools/audit: each reads one record of a run by itself, in its own words; only checks.py compares them.
Nothing here is shared with the programs: formats are read as docs/develop/store.md, proto/PROTOCOL.md and docs/use/offline.md describe them."""
