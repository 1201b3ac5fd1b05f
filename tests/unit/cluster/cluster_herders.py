"""What tests ask of a herder."""

from connect.cluster.model.request_errors import NotFoundError

SOURCE = {"connector.class": "Source", "tasks.max": "2", "name": "s"}


def states(herder, name="s"):
    try:
        status = herder.connectors.status(name)
    except NotFoundError:
        return None
    return status.connector.state.value, [task.state.value for task in status.tasks.values()]


def create(herder, name="s", initial=None, **keys):
    return herder.connectors.create(name, {**SOURCE, "name": name, **keys}, initial).result(60)


def is_running(herder, name="s", tasks=2):
    return lambda: states(herder, name) == ("RUNNING", ["RUNNING"] * tasks)
