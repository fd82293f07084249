import { KUBERNETES_RELEASE, nodeVersion } from '@kubus/node-status';
import { version } from '@kubus/service-kit';
import type { FastifyInstance } from 'fastify';
import { get, sendText, serveFor } from './routes.ts';

/** What a process says of itself, and which of its pages are served. */
export interface DebugOptions {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly now: () => number;
  /** enableDebugFlagsHandler */
  readonly flags: boolean;
  /** enableProfilingHandler */
  readonly profiling: boolean;
}

const WARNING =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

/** What a process tells of itself (kubelet behaviour 5). What the node does not do says so, and why. */
export function addDebugRoutes(app: FastifyInstance, { startedAt, now, flags, profiling }: DebugOptions): void {
  const paths = ['/configz', '/healthz', '/metrics', '/pods'];
  get(app, '/statusz', async (_request, reply) => {
    const seconds = Math.floor((now() - startedAt) / 1000);
    const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
    const lines = [
      ...['', 'kubelet statusz', WARNING, ''],
      `Started: ${new Date(startedAt).toUTCString()}`,
      `Up: ${Math.floor(seconds / 3600)} hr ${two((seconds % 3600) / 60)} min ${two(seconds % 60)} sec`,
      `Node.js version: ${process.version}`,
      `Binary version: ${nodeVersion(version)}`,
      `Emulation version: ${KUBERNETES_RELEASE}`,
      `Paths: ${paths.join(' ')}`,
      '',
    ];
    return sendText(reply, 200, lines.join('\n'));
  });
  serveFor(app, ['PUT'], '/debug/flags/v', async (_request, reply) =>
    flags
      ? sendText(
          reply,
          501,
          'the services of this node have the log level of its configuration until they are restarted\n',
        )
      : sendText(reply, 405, 'flags endpoint is disabled.\n'),
  );
  for (const path of ['/debug/pprof', '/debug/pprof/*']) {
    app.all(path, (_request, reply) =>
      profiling
        ? sendText(reply, 501, 'profiles of this process are made with Node’s inspector, not here\n')
        : sendText(reply, 405, 'profiling endpoint is disabled.\n'),
    );
  }
}
