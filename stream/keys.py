"""The rule of capture.endpoints under the stream's name: loopback without keys, everything else with them."""

from capture.endpoints import EndpointError, KeySettings, is_loopback, key_settings, secure_client, secure_server

__all__ = ["EndpointError", "KeySettings", "is_loopback", "key_settings", "secure_client", "secure_server"]
