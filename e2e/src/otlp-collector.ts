import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import otlp from '@opentelemetry/otlp-transformer/build/src/generated/root.js';
import * as z from 'zod';

/** The protocol's messages, as OpenTelemetry's own library has them. */
const { ExportTraceServiceRequest } = (
  otlp as unknown as {
    opentelemetry: {
      proto: { collector: { trace: { v1: { ExportTraceServiceRequest: { fromObject(json: object): object } } } } };
    };
  }
).opentelemetry.proto.collector.trace.v1;

const requestSchema = z.object({
  resourceSpans: z.array(
    z.object({ scopeSpans: z.array(z.object({ spans: z.array(z.object({ name: z.string() })) })) }),
  ),
});

/** A receiver of OTLP over HTTP on the machine's loopback. It answers 400 to what the protocol's library does not read. */
export class OtlpCollector {
  /** Names of the received spans. */
  readonly names: string[] = [];
  readonly #server = createServer((request, response) => {
    void json(request)
      .then((body) => {
        const read = ExportTraceServiceRequest.fromObject(body as object);
        const { resourceSpans } = requestSchema.parse(read);
        this.names.push(
          ...resourceSpans.flatMap((one) => one.scopeSpans.flatMap(({ spans }) => spans.map(({ name }) => name))),
        );
        if (request.url !== '/v1/traces') throw new Error(`no such path: ${request.url ?? ''}`);
        response.setHeader('content-type', 'application/json').end('{}');
      })
      .catch((error: unknown) => response.writeHead(400).end(String(error)));
  });

  static async start(): Promise<OtlpCollector> {
    const collector = new OtlpCollector();
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
