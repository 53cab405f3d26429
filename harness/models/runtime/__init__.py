"""Runs a transformer encoder by OpenVINO where it is installed, else by torch."""

from harness.models.runtime.openvino import Runtime, default_runtime, faster_encoder, keep_in

__all__ = ["Runtime", "default_runtime", "faster_encoder", "keep_in"]
