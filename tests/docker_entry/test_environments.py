import pytest

from broker_lite.docker_entry.sources import read_sources
from broker_lite.settings import load_settings, parse_listeners
from tests.docker_entry.environments import ENVIRONMENTS, Environment, Listener


@pytest.mark.parametrize("case", ENVIRONMENTS, ids=lambda case: case.name)
def test_what_comes_of_the_variables_of_other_images(case: Environment) -> None:
    found = read_sources(case.variables, exists=lambda _: False, is_mount=lambda _: False)
    warnings = list(found.warnings)
    settings = load_settings(
        None, found.environment, surroundings=found.surroundings, warnings=warnings
    )
    listeners = [
        Listener(
            one.name,
            one.host,
            one.port,
            None if one.advertised_host is None else (one.advertised_host, one.advertised_port),
        )
        for one in parse_listeners(settings)
    ]
    assert listeners == case.listeners
    assert settings.broker_lite_cluster_id == case.cluster_id
    assert sorted(line.partition(":")[0] for line in warnings) == case.ignored
