"""Runs an OpenID Connect issuer: a process serves its discovery document and keys, and the test signs its tokens."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import requests
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from connect.lib.deadline import Deadline
from connect.tools.services.process.ports import free_ports

AUDIENCE = "connect"


class Issuer:
    """Signs tokens in this process, with keys that another process publishes over HTTP."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "issuer"
        (self.folder / ".well-known").mkdir(parents=True)
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "issuer.log"
        self.log.touch()
        self.keys: dict[str, RSAKey | ECKey] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self.say(issuer=self.url)
        self.rotate("k1")

    def say(self, **about: str) -> None:
        """Set members of the discovery document."""
        document = {"jwks_uri": f"{self.url}/jwks.json", **about}
        (self.folder / ".well-known/openid-configuration").write_text(json.dumps(document))

    def rotate(self, name: str, *, keep: bool = False, kind: str = "RSA") -> None:
        """Sign with a new key from now on. Unless `keep`, the other keys are not published any more."""
        parameters = {"kid": name, "use": "sig"}
        key = RSAKey.generate_key(2048, parameters) if kind == "RSA" else ECKey.generate_key("P-256", parameters)
        self.keys = {**(self.keys if keep else {}), name: key}
        listed = [one.as_dict(private=False) for one in self.keys.values()]
        (self.folder / "jwks.json").write_text(json.dumps({"keys": listed}))

    def token(self, user: str = "ada", *, groups: Any = (), lasts_s: float = 300, **more: Any) -> str:
        """Return a token. `more` sets claims; None removes one. The arguments `kid`, `alg` and `key` are no claims."""
        name = more.pop("kid", list(self.keys)[-1])
        key = more.pop("key", None) or self.keys[name]
        algorithm = more.pop("alg", "RS256" if isinstance(key, RSAKey) else "ES256")
        now = time.time()
        claims = {
            "iss": self.url, "aud": AUDIENCE, "sub": user, "iat": now, "exp": now + lasts_s,
            "groups": groups if isinstance(groups, str) else list(groups), **more,
        }  # fmt: skip
        given = {claim: value for claim, value in claims.items() if value is not None}
        return jwt.encode({"alg": algorithm, "kid": name}, given, key, algorithms=[algorithm])

    def start(self) -> None:
        """Start to answer requests."""
        command = [sys.executable, "-m", "http.server", str(self.port), "--bind", "127.0.0.1", "--directory", "."]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        deadline = Deadline.after(60)
        while not self._answers():
            if self._process.poll() is not None or not deadline.wait(0.05):
                self.stop()
                raise AssertionError(f"The issuer does not answer: {self.log.read_text()}")

    def stop(self) -> None:
        """Stop answering requests."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None

    def asked(self) -> int:
        """Return how often its keys were fetched."""
        return self.log.read_text().count("GET /jwks.json")

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.url}/.well-known/openid-configuration", timeout=10).ok
        except requests.ConnectionError:
            return False
