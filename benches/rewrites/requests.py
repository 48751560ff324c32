"""The requests of an example as a recording, which `parity stress` and `parity soak` read: requests.py payments|events|items|echo"""

import json
import sys

# As many ids as the published comparison of payments had.
ACCOUNTS = range(10_000, 26_000)
DIFFERENT = 2_000


def payments():
    for account in ACCOUNTS:
        for what in "balance", "statistics":
            yield "GET", f"/accounts/acc-{account}/{what}", None, None


def events():
    """512 bytes of YAML each."""
    regions, kinds = ["SE", "DE", "NO", "US", "JP"], ["order.created", "order.paid", "refund.created", "audit.login"]
    for number in range(DIFFERENT):
        text = (
            f"id: evt-{number:06}\ntype: {kinds[number % 4]}\nregion: {regions[number % 5]}\npriority: {number % 10}\n"
            "occurred_at: 2026-03-01T09:30:12.120Z\nsource:\n  service: checkout\n  instance: checkout-7f9c\n"
            f"labels:\n  team: payments\n  tier: gold\n  trace: t{number}\npayload: "
        )
        yield "POST", "/events", "application/yaml", text.ljust(511, "x") + "\n"


def items():
    """Twenty values."""
    for number in range(DIFFERENT):
        yield "POST", "/items", "application/json", json.dumps([{"value": (number % 997 + at * 4) / 4} for at in range(20)])


def echo():
    """About 1 KB of JSON."""
    for number in range(DIFFERENT):
        metadata = [{"key": f"key-{at:02}", "value": f"<value {at} of {number} & more>"} for at in range(16)]
        metadata[0]["value"] = "Geneva" if number % 2 else "Zürich"
        document = {"id": f"ping-{number}", "user_agent": "echo-clients/1.0", "metadata": metadata}
        yield "POST", "/echo", "application/json", json.dumps(document, ensure_ascii=False)


for method, url, kind, body in {"payments": payments, "events": events, "items": items, "echo": echo}[sys.argv[1]]():
    line = {"schema": "parity.exchange/v1", "time": "2026-03-01T00:00:00.000000Z", "method": method, "url": url}
    if body is not None:
        line |= {"headers": [["content-type", kind]], "body": body}
    print(json.dumps(line))
