# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is shipped for Kubernetes: its schemas take it, strictly. tests/integration runs it by podman."""

import kubernetes_validate
import pytest
import yaml
from conftest import ROOT

DEPLOY = ROOT / "deploy/kubernetes"
MANIFESTS = sorted(DEPLOY.glob("*.yaml"))
# The oldest whose schemas come with it and the newest.
VERSIONS = ("1.25", "1.37")


def documents(file):
    return list(yaml.safe_load_all(file.read_text()))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.name)
def test_the_schemas_take_it(file, version):
    for document in documents(file):
        kubernetes_validate.validate(document, version, strict=True)


def test_what_the_schemas_refuse():
    """The test above can fail."""
    wrong = documents(DEPLOY / "exporter.yaml")[0]
    wrong["spec"]["selectors"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)
