"""What is asked of a connector itself, where its package lacks something."""

import pytest

from connect.api.errors import ConnectError
from connect.runtime.connector_answers import answer_connector_call
from connect.runtime.messages import Call


class LoadsLate:
    """Imports its driver when it is asked."""

    def __init__(self, module):
        self.module = module

    def check(self, deadline):
        raise ModuleNotFoundError(f"No module named {self.module!r}", name=self.module)


@pytest.mark.parametrize(
    ("module", "fix"),
    [
        ("obstore", "Run: pip install 'connect-for-kafka[s3]'"),
        ("google.cloud.bigquery", "Run: pip install 'connect-for-kafka[bigquery]'"),
        ("quite_unknown", "Install what the connector's package needs."),
    ],
)
def test_a_missing_package_is_named_with_what_to_run(module, fix):
    call = Call(1, "check", {}, timeout_s=1)
    with pytest.raises(ConnectError, match=f"needs a package that is missing: No module named '{module}'") as raised:
        answer_connector_call(LoadsLate(module), call, {})
    assert raised.value.fix == fix
