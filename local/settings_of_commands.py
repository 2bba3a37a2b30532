"""The settings of commands that work beside the app, with what it keeps."""

import os
from pathlib import Path

from local.rai_service.beside_host import is_wanted
from local.settings_file import apply_local_settings
from shared.settings import Settings


def read_settings() -> Settings:
    """The settings of the app on this machine, for a command that needs no safety service.

    Raises:
        HostError: `local.settings.json` is wrong.
        NotConfigured: a setting is wrong.
    """
    apply_local_settings(Path())
    if is_wanted(os.environ):
        os.environ["RAI_MODE"] = "off"  # the local safety service starts later, and documents do not need it
    return Settings.read(os.environ)
