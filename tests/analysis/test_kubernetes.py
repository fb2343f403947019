# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the Kubernetes manifests with strict schemas. tests/integration runs them by podman."""

import kubernetes_validate
import pytest
import yaml
from conftest import ROOT

DEPLOY = ROOT / "deploy/kubernetes"
MANIFESTS = sorted(DEPLOY.glob("*.yaml"))
# The oldest and the newest version whose schemas are installed.
VERSIONS = ("1.25", "1.37")


def documents(file):
    return list(yaml.safe_load_all(file.read_text()))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.name)
def test_the_schemas_accept_the_manifests(file, version):
    for document in documents(file):
        kubernetes_validate.validate(document, version, strict=True)


def test_the_schemas_refuse_others():
    """Shows that the test of the schemas can fail."""
    wrong = documents(DEPLOY / "exporter.yaml")[0]
    wrong["spec"]["selectors"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)
