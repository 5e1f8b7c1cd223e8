"""The sockets of the stream: the publisher with its outputs, the service for requests, and the relay for browsers.

In: messages (`sink`, `fanout`) and requests (`service`, `tuning`). Out: payloads to subscribers and outputs. Clients of both
sockets: `subscriber`, `client`.

Other folders import client, fanout, publisher, relay, sink, subscriber, tuning.
"""
