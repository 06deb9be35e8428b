"""The files around the service of the documentation agree with it and with each other."""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.support.processes import run
from tests.support.services import SERVICE

ROOT = SERVICE.parents[2]
DEPLOY = SERVICE / "deploy"
GUIDE = (ROOT / "docs" / "guide" / "service.md").read_text("utf-8")
APP = (SERVICE / "app.py").read_text("utf-8")
ROUTES = set(re.findall(r'Route\("(/\w+)"', APP))
METRICS = {f"fastad_{name}" for name in re.findall(r'\("(\w+)", "(?:counter|gauge)"', APP)}


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text("utf-8"))


def settings() -> dict[str, str]:
    code = "import config; print([f.name for f in config.fields(config.Settings)])"
    names = re.findall(r"'(\w+)'", run(code, PYTHONPATH=f"{SERVICE}"))
    return {f"SERVICE_{name.upper()}": name for name in names}


def strings(content: Any) -> Iterator[str]:
    """Yield all strings of nested lists and mappings."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for each in content.values() if isinstance(content, dict) else content:
            yield from strings(each)


@pytest.mark.skipif(sys.platform == "win32", reason="the service needs fcntl")
def test_variables_are_settings() -> None:
    known = settings().keys()
    dockerfile = (SERVICE / "Dockerfile").read_text("utf-8")
    for text in (dockerfile, GUIDE, *(path.read_text("utf-8") for path in DEPLOY.glob("*.yaml"))):
        assert set(re.findall(r"SERVICE_[A-Z_]*[A-Z]", text)) - {"SERVICE_PORT"} <= known
    # The guide lists them all.
    assert known <= set(re.findall(r"SERVICE_[A-Z_]*[A-Z]", GUIDE))


def test_the_dockerfile_and_the_compose_file_name_files_that_are_there() -> None:
    text = (SERVICE / "Dockerfile").read_text("utf-8")
    for name in ("docs/examples/service/requirements.txt", "docs/guide/deploy.md"):
        assert name in text
        assert (ROOT / name).is_file()
    compose = read("compose.yaml")
    build = compose["services"]["service"]["build"]
    assert (DEPLOY / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).samefile(SERVICE / "Dockerfile")
    inside = {}
    for service in compose["services"].values():
        for volume in service.get("volumes", []):
            source, target, *_ = volume.split(":")
            if source.startswith("."):
                assert (DEPLOY / source).is_file()
            else:
                assert source in compose["volumes"]
            inside[target] = source
    # Prometheus and Grafana find what is mounted.
    assert all(f"/etc/prometheus/{name}" in inside for name in read("prometheus.yml")["rule_files"])
    (provider,) = read("grafana/provider.yml")["providers"]
    assert f"{provider['options']['path']}/dashboard.json" in inside


def test_prometheus_scrapes_the_service() -> None:
    (job,) = read("prometheus.yml")["scrape_configs"]
    ((target,),) = [each["targets"] for each in job["static_configs"]]
    host, _, port = target.partition(":")
    ports = read("compose.yaml")["services"][host]["ports"]
    assert port == "8000"
    assert [each.rpartition(":")[2] for each in ports] == [port]
    assert "metrics_path" not in job
    assert "/metrics" in ROUTES


def test_alerts_and_panels_ask_for_metrics_that_exist() -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text("utf-8"))
    (source,) = read("grafana/datasource.yml")["datasources"]
    alerts = [rule for group in read("alerts.yml")["groups"] for rule in group["rules"]]
    asked = [rule["expr"] for rule in alerts]
    for panel in dashboard["panels"]:
        asked += [target["expr"] for target in panel["targets"]]
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {source["uid"]}
    for text in [*asked, *strings(dashboard["templating"])]:
        assert set(re.findall(r"fastad_\w+", text)) <= METRICS
        assert text.count("(") == text.count(")")
        assert text.count("{") == text.count("}")
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    variables = {each["name"] for each in dashboard["templating"]["list"]}
    used = {name for text in strings(dashboard) for name in re.findall(r"\$(\w+)", text)}
    assert used == variables
    # "No data" is asked for by counts that are there before any point.
    assert {"NoData", "DiskFailing"} <= {rule["alert"] for rule in alerts}


def test_kubernetes_asks_for_readiness_apart_from_liveness() -> None:
    documents = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))
    service, stateful = documents
    template = stateful["spec"]["template"]
    assert service["spec"]["selector"] == template["metadata"]["labels"]
    assert stateful["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
    pod = template["spec"]
    (container,) = pod["containers"]
    probes = {
        kind: container[f"{kind}Probe"]["httpGet"]["path"]
        for kind in ("startup", "liveness", "readiness")
    }
    assert probes == {"startup": "/live", "liveness": "/live", "readiness": "/health"}
    assert {"/live", "/health"} <= ROUTES
    (claim,) = stateful["spec"]["volumeClaimTemplates"]
    (mount,) = container["volumeMounts"]
    assert mount["name"] == claim["metadata"]["name"]
    dockerfile = (SERVICE / "Dockerfile").read_text("utf-8")
    assert f"SERVICE_FOLDER={mount['mountPath']}" in dockerfile
    assert f"USER {pod['securityContext']['runAsUser']}" in dockerfile
    assert pod["enableServiceLinks"] is False
    stop = int(re.search(r"stop_seconds: int = (\d+)", (SERVICE / "config.py").read_text())[1])  # type: ignore[index]
    assert pod["terminationGracePeriodSeconds"] > stop
    grace = read("compose.yaml")["services"]["service"]["stop_grace_period"]
    assert int(grace.removesuffix("s")) > stop


def test_the_guide_lists_all_requests() -> None:
    assert {route for route in ROUTES if f"{route}" not in GUIDE} == set()
