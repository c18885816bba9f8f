#!/usr/bin/env python3
"""Runs the commands of the README's tour as they are written, in a folder of their own.

Usage: tour.py REPOSITORY BUILD_FOLDER. Each command must end with exit code 0 and print something.
"""
import os
import re
import subprocess
import sys
import tempfile

repository, build = map(os.path.abspath, sys.argv[1:3])
with open(os.path.join(repository, "README.md"), encoding="utf-8") as page:
    blocks = re.findall(r"```sh tour\n(.*?)```", page.read(), re.DOTALL)
commands = [line for block in blocks for line in block.splitlines()]
if len(commands) < 10:
    sys.exit(f"only {len(commands)} commands of a tour in README.md")
with tempfile.TemporaryDirectory(prefix="skep-tour-") as folder:
    os.symlink(build, os.path.join(folder, "build"))
    for name in ("README.md", "train"):
        os.symlink(os.path.join(repository, name), os.path.join(folder, name))
    for command in commands:
        print("$", command, flush=True)
        run = subprocess.run(command, shell=True, cwd=folder, text=True, errors="replace", timeout=240, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(run.stdout[-1500:], flush=True)
        if run.returncode != 0 or not run.stdout.strip():
            sys.exit(f"exit code {run.returncode} from: {command}")
