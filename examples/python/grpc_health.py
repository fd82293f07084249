"""A client of the gRPC health checking protocol (grpc.health.v1)."""

import grpc

CHECK = "/grpc.health.v1.Health/Check"
STATUSES = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")

# Without TLS and without a proxy, on a separate connection.
OPTIONS = (("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1))


async def health(host: str, port: int, service: str, limit: float) -> str:
    """Its status. `host` is an IP address; `service` is empty for the server as a whole. Raises grpc.RpcError."""
    target = f"ipv6:[{host}]:{port}" if ":" in host else f"ipv4:{host}:{port}"
    async with grpc.aio.insecure_channel(target, OPTIONS) as channel:
        check = channel.unary_unary(CHECK, request_serializer=request, response_deserializer=status)
        # A server that does not listen yet is tried again until the time limit.
        return await check(service, timeout=limit, wait_for_ready=True)


def request(service: str) -> bytes:
    """HealthCheckRequest: the service's name is field 1, in UTF-8, after its length as a varint."""
    name, length = service.encode(), b""
    if not name:
        return b""
    size = len(name)
    while size > 0x7F:
        length, size = length + bytes([0x80 | size & 0x7F]), size >> 7
    return b"\x0a" + length + bytes([size]) + name


def status(response: bytes) -> str:
    """HealthCheckResponse: the status is field 1, a number of one byte; left out it is 0."""
    number = response[1] if response[:1] == b"\x08" else 0
    return STATUSES[number] if number < len(STATUSES) else str(number)
