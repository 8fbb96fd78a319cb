"""Stands for the module of the same name that the tests of Azure's SDKs for Python use, which is on no registry.

It runs each test against the account of the environment: ACCOUNT, KEY, TABLE and QUEUE. Nothing is recorded. As a
plugin of pytest, it knows which tests must fail.
"""

import asyncio
import functools
import hashlib
import inspect
import io
import logging
import os
import pathlib
import random
import re
import sys
import time

import pytest
from azure.core.credentials import AccessToken

# All submodules are this module.
for name in ("aio", "storage", "storage.aio", "fake_credentials", "fake_credentials_async", "perfstress_tests"):
    sys.modules[f"{__name__}.{name}"] = sys.modules[__name__]

os.environ["NO_PROXY"] = "*"

# Tests wait for Azure's caches, up to 45 seconds; there are none here.
pause = time.sleep
pause_async = asyncio.sleep
time.sleep = lambda seconds: pause(min(seconds, 0.01))
asyncio.sleep = lambda seconds, *result: pause_async(min(seconds, 0.01), *result)

STORAGE_ACCOUNT_FAKE_KEY = "a2V5"
SESSION = f"{random.getrandbits(32):x}"


def pytest_collection_modifyitems(items):
    lines = pathlib.Path(__file__).with_name("expected").read_text().splitlines()
    expected = [line.split("\t") for line in lines if not line.startswith("#")]
    for item in items:
        for what, name, reason in expected:
            if re.search(name, item.nodeid):
                mark = pytest.mark.skip if what == "skip" else functools.partial(pytest.mark.xfail, strict=True)
                item.add_marker(mark(reason=reason))
                break


class Endpoints:
    table = os.environ["TABLE"]
    queue = os.environ["QUEUE"]


class Account(str):
    """The name of an account, which knows where it is served."""

    primary_endpoints = Endpoints()


class Key(str):
    @property
    def secret(self):
        return str(self)


def is_live():
    return True


def needed(test, kwargs):
    takes = inspect.getfullargspec(inspect.unwrap(test))
    return kwargs if takes.varkw else {k: v for k, v in kwargs.items() if k in takes.args}


def preparer(_, options=None, **names):
    """Passes the account to a test that asks for it."""
    account = {n: Key(os.environ["KEY"]) if n.endswith("key") else Account(os.environ["ACCOUNT"]) for n in names}

    def decorate(test):
        if inspect.iscoroutinefunction(test):

            async def run(*args, **kwargs):
                return await test(*args, **kwargs, **needed(test, account))

        else:

            def run(*args, **kwargs):
                return test(*args, **kwargs, **needed(test, account))

        # What pytest passes: self, and parameters that are no part of the account.
        parameters = inspect.signature(test).parameters.values()
        asked = [p for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD and p.name not in account]
        self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        run.__signature__ = inspect.Signature(asked or [self])
        return run

    return decorate


PowerShellPreparer = EnvironmentVariableLoader = preparer


class EnvironmentVariableOptions:
    def __init__(self, **_):
        pass


def recorded_by_proxy(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        if "variables" in inspect.getfullargspec(test).kwonlyargs or inspect.getfullargspec(test).varkw:
            kwargs.setdefault("variables", {})
        return test(*args, **needed(test, kwargs))

    return run


def recorded_by_proxy_async(test):
    @functools.wraps(test)
    async def run(*args, **kwargs):
        if inspect.getfullargspec(test).varkw:
            kwargs.setdefault("variables", {})
        return await test(*args, **needed(test, kwargs))

    return run


@pytest.fixture(scope="session")
def test_proxy():
    return None


def ignored(*args, **kwargs):
    return None


set_custom_default_matcher = remove_batch_sanitizers = add_general_regex_sanitizer = ignored
add_header_regex_sanitizer = add_body_key_sanitizer = add_oauth_response_sanitizer = ignored
add_uri_string_sanitizer = add_uri_regex_sanitizer = add_remove_header_sanitizer = ignored


class FakeTokenCredential:
    def __init__(self, *_):
        self.token, self.get_token_count = AccessToken("YOU SHALL NOT PASS", int(time.time()) + 3600), 0

    def get_token(self, *args, **kwargs):
        self.get_token_count += 1
        return self.token


class AsyncFakeCredential(FakeTokenCredential):
    async def get_token(self, *args, **kwargs):
        self.get_token_count += 1
        return self.token


def get_credential(*args, **kwargs):
    pytest.skip("signs in to Entra")


class AzureRecordedTestCase:
    is_live = True
    in_recording = False

    def get_resource_name(self, prefix):
        test = hashlib.sha256(os.environ["PYTEST_CURRENT_TEST"].split(" ")[0].encode()).hexdigest()
        return prefix + test[:16] + SESSION

    create_random_name = get_resource_name
    get_credential = staticmethod(get_credential)
    sleep = staticmethod(ignored)

    def get_datetime_variable(self, variables, name, value):
        return value

    def account_url(self, account, service):
        return getattr(Endpoints, service).rstrip("/")

    def get_random_bytes(self, size):
        return random.randbytes(size)  # tests have os.urandom call this

    def connection_string(self, account, key):
        return f"DefaultEndpointsProtocol=http;AccountName={account};AccountKey={key};QueueEndpoint={Endpoints.queue}"

    def generate_sas(self, sign, *args, **kwargs):
        return sign(*args, **kwargs)


StorageRecordedTestCase = AsyncStorageRecordedTestCase = AzureRecordedTestCase


class ResponseCallback:
    """Changes the status of a response before the SDK sees it."""

    def __init__(self, status=None, new_status=None):
        self.status, self.new_status, self.count = status, new_status, 0

    def override_status(self, response):
        if response.http_response.status_code == self.status:
            response.http_response.status_code = self.new_status

    def override_first_status(self, response):
        if self.count == 0:
            self.override_status(response)
        self.count += 1


class LogCaptured:
    def __init__(self, test=None):
        self.stream = io.StringIO()

    def __enter__(self):
        self.handler = logging.StreamHandler(self.stream)
        logging.getLogger("azure").addHandler(self.handler)
        logging.getLogger("azure").setLevel(logging.DEBUG)
        return self.stream

    def __exit__(self, *_):
        logging.getLogger("azure").removeHandler(self.handler)
