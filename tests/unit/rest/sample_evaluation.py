"""A process that speaks as an evaluation does, and waits for a file before it ends."""

import json
import sys
from pathlib import Path


def tell(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


asked = json.loads(sys.stdin.readline())
config = asked["connectors"][0]["config"]
tell(json.dumps({"said": f"options {sorted(asked['options'].items())}"}))
match config["wanted"]:
    case "result":
        tell(json.dumps({"result": {"verdict": "fits"}, "report": "<!DOCTYPE html>é"}))
    case "error":
        tell(json.dumps({"error": "no such connector"}))
    case "end":
        sys.exit(7)
    case path:
        sys.stdin.read()
        Path(path).write_text("ended with its owner", encoding="utf-8")
