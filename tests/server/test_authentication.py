"""SASL over real sockets, against a whole broker in a process of its own.

Also tests: broker_lite.handler.authentication.
Also tests: broker_lite.handler.security.sasl_requests.
Also tests: broker_lite.security.sasl.listener_rules.
"""

import base64
import hashlib
import hmac
import json
import random
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from broker_lite.testing import Broker
from tests.support.raw_client import Closed, RawClient

PREFIX = "listener.name.sasl."
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SETTINGS = {
    "listeners": "SASL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
    "listener.security.protocol.map": "SASL:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT",
    PREFIX + "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    PREFIX + "plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="alice-secret";',
    PREFIX + "plain.connections.max.reauth.ms": "2500",
    PREFIX + "scram-sha-256.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    PREFIX + "scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    PREFIX + "oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;",
}
