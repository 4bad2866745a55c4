"""Parameter names that are credentials and never scored (protocol §3, ruling 61). Frozen with V1.

A name is compared in lower case with everything but letters and digits removed: `X-API-Key`,
`api_key` and `apiKey` are one name. User names, passwords and user ids are not credentials of the
API's caller: the request states them, so they are scored.
"""

import re

NAMES = frozenset(
    {
        # API keys
        "apikey", "xapikey", "apikeyid", "accesskey", "accesskeyid", "appkey", "applicationkey",
        "authkey", "secretkey", "subscriptionkey", "ocpapimsubscriptionkey", "rapidapikey",
        "xrapidapikey", "consumerkey", "developerkey", "licensekey", "privatekey", "servicekey",
        # application and client ids
        "appid", "applicationid", "clientid", "developerid",
        # tokens
        "token", "apitoken", "accesstoken", "authtoken", "authenticationtoken", "authorizationtoken",
        "bearertoken", "oauthtoken", "refreshtoken", "sessiontoken", "xauthtoken", "xaccesstoken",
        # secrets and headers that carry one
        "secret", "apisecret", "appsecret", "clientsecret", "consumersecret", "tokensecret",
        "authorization", "bearer", "credentials",
    }
)  # fmt: skip

_OTHER = re.compile(r"[\W_]+")


def is_credential(name: str) -> bool:
    """True for a parameter's name that is a credential whatever the documentation says."""
    return _OTHER.sub("", name).casefold() in NAMES
