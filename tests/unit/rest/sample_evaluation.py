"""Speaks as the process of an evaluation does, and waits for its owner's end before it ends."""

import sys
from pathlib import Path

from connect.lib.answering_child import Answers

answers = Answers()
asked = answers.request()
config = asked["connectors"][0]["config"]
answers.tell(said=f"options {sorted(asked['options'].items())}")
match config["wanted"]:
    case "result":
        sys.stdout.write("a library prints")
        answers.tell(result={"verdict": "fits"}, report="<!DOCTYPE html>é")
    case "error":
        answers.tell(error="no such connector")
    case "end":
        sys.exit(7)
    case path:
        sys.stdin.read()
        Path(path).write_text("ended with its owner", encoding="utf-8")
