"""Runs a load generator to its end, and prints what it said of itself and the CPU that it took, as JSON: generator.py NAME COMMAND...

The CPU is user and system time of the process from its start to its end, as the kernel tells it. A generator whose name begins with `wrk`
prints for people, and its script prints JSON on stderr as the last line."""

import json
import os
import signal
import subprocess
import sys


def main():
    name, *command = sys.argv[1:]
    # What was started ends with this program, also by a signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        said, told = child.communicate()
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
    used = os.times()
    try:
        result = json.loads(told.strip().splitlines()[-1] if name.startswith("wrk") else said)
    except (ValueError, IndexError):
        sys.exit(f"{command[0]} ended with {child.returncode}: {told[-1000:]!r}")
    json.dump({"cpu": used.children_user + used.children_system, "result": result}, sys.stdout)


main()
