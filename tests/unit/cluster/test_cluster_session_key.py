import base64

from connect.cluster.store.session_key import needs_rotation, new_session_key


def test_a_key_is_random_and_long_enough():
    keys = [new_session_key(7) for _ in range(2)]
    assert keys[0].key != keys[1].key
    assert len(base64.b64decode(keys[0].key, validate=True)) >= 32
    assert keys[0].created_ms == 7


def test_a_key_is_renewed_when_it_is_missing_or_old():
    key = new_session_key(1000)
    assert needs_rotation(None, 0, 5000)
    assert not needs_rotation(key, 5999, 5000)
    assert needs_rotation(key, 6000, 5000)
    assert not needs_rotation(key, 10**12, 0)
