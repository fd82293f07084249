"""A gRPC server with the health service: well as a whole, and not well as the service `ill`.

    python3 grpc_server.py PORT
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


class Health(grpc.GenericRpcHandler):
    def service(self, handler_call_details):
        if handler_call_details.method == "/grpc.health.v1.Health/Check":
            return grpc.unary_unary_rpc_method_handler(check)
        return None


def check(request: bytes, _context: grpc.ServicerContext) -> bytes:
    return NOT_SERVING if request.endswith(b"ill") else SERVING


server = grpc.server(ThreadPoolExecutor(), [Health()])
server.add_insecure_port(f"0.0.0.0:{sys.argv[1]}")
server.start()
print("serving", flush=True)
server.wait_for_termination()
