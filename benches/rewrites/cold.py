"""How long a program takes from its start to its first answer, and its size: prints JSON. Each program is started ten times, in turn.

Usage: cold.py CORE REQUESTS ADDRESS PROGRAM [ARGUMENT...] -- ADDRESS PROGRAM [ARGUMENT...]; the address is the last argument, too."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

TIMES = 10
# A program that does not answer by then never does.
PATIENCE = 20.0


def first_answer(command, address, request, core):
    host, port = address.split(":")
    begun = time.monotonic()
    child = subprocess.Popen(
        [*command, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )
    try:
        while time.monotonic() - begun < PATIENCE:
            try:
                with socket.create_connection((host, int(port)), timeout=PATIENCE) as stream:
                    stream.sendall(request)
                    if stream.recv(12) != b"HTTP/1.1 200":
                        sys.exit(f"{command[0]} answers no 200")
                    return time.monotonic() - begun
            except ConnectionRefusedError:
                time.sleep(0.0002)
        sys.exit(f"{command[0]} does not answer")
    finally:
        child.terminate()
        child.wait()


def main():
    # What was started ends with this program, also by a signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    core, requests, *rest = sys.argv[1:]
    with open(requests) as lines:
        asked = json.loads(next(lines))
    body = asked["body"].encode()
    head = f"{asked['method']} {asked['url']} HTTP/1.1\r\nhost: echo\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    at = rest.index("--")
    programs = {"legacy": rest[:at], "candidate": rest[at + 1 :]}
    took = {name: [] for name in programs}
    for _ in range(TIMES):
        for name, (address, *command) in programs.items():
            took[name].append(first_answer(command, address, head.encode() + body, int(core)))
    json.dump(took, sys.stdout)


main()
