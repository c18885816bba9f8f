"""Checks tools/packages.sh: its list is the README's, and it installs what is missing, with consent.

Commands that would change the machine are replaced by ones that write down how they were called.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])

FAKES = {
    "dpkg-query": 'for last; do :; done; [ "$last" = present ] && echo "install ok installed"',
    "apt-get": 'echo "apt-get $*" >>"$CALLS"',
    "sudo": 'echo sudo >>"$CALLS"; "$@"',
    "id": 'echo "$USER_ID"',
}


def bash(script, **environment):
    """Exit code, both outputs as one text."""
    done = subprocess.run(["bash", "-c", f"set -euo pipefail; source tools/packages.sh; {script}"], cwd=ROOT,
                          env=environment or None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=20)
    return done.returncode, done.stdout


def readme_packages():
    block = re.search(r"apt-get install ((?:[^\n]*\\\n)*[^\n]*)", (ROOT / "README.md").read_text())
    return block.group(1).replace("\\\n", " ").split()


def install(consent, user_id, folder, packages="present absent other"):
    """As bash(), and the calls that would have changed the machine."""
    calls = folder / "calls"
    calls.write_text("")
    code, out = bash(f"install_packages {consent} {packages}", PATH=f"{folder}:/usr/bin:/bin", CALLS=str(calls),
                     USER_ID=str(user_id))
    return code, out, calls.read_text().splitlines()


def test_lists():
    code, out = bash('echo "${build_packages[@]}"')
    assert code == 0 and readme_packages() == out.split(), f"README.md: {readme_packages()}\npackages.sh: {out}"


def test_install(folder):
    for name, body in FAKES.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n")
        (folder / name).chmod(0o755)
    work = ["apt-get update -q", "apt-get install -y -q --no-install-recommends absent other"]
    assert install("yes", 0, folder)[::2] == (0, work)
    assert install("yes", 1000, folder)[::2] == (0, ["sudo", work[0], "sudo", work[1]])
    assert install("ask", 0, folder, "present") == (0, "", [])
    code, out, calls = install("ask", 0, folder)  # no terminal: nobody to ask
    assert (code, calls) == (2, []) and "absent other" in out and "--yes" in out, out


test_lists()
with tempfile.TemporaryDirectory() as scratch:
    test_install(pathlib.Path(scratch))
print(f"{len(readme_packages())} packages, in README.md and tools/packages.sh alike")
