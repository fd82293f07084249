import { KUBERNETES_RELEASE, nodeVersion } from '@kubus/node-status';
import { toError } from '@kubus/ports';
import { version } from '@kubus/service-kit';
import type { FastifyInstance } from 'fastify';
import type { LogLevel } from './log-level.ts';
import { get, sendText } from './routes.ts';

/** What a process says of itself, and which of its pages are served. */
export interface DebugOptions {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly now: () => number;
  /** What is set by /debug/flags/v; undefined: nothing is (enableDebugFlagsHandler). */
  readonly logLevel: Pick<LogLevel, 'set'> | undefined;
  /** enableProfilingHandler */
  readonly profiling: boolean;
}

const WARNING =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

/** What a process tells of itself (kubelet behaviour 5). What the node does not do says so, and why. */
export function addDebugRoutes(app: FastifyInstance, { startedAt, now, logLevel, profiling }: DebugOptions): void {
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
  addFlagRoute(app, logLevel);
  for (const path of ['/debug/pprof', '/debug/pprof/*']) {
    app.all(path, (_request, reply) =>
      profiling
        ? sendText(reply, 501, 'profiles of this process are made with Node’s inspector, not here\n')
        : sendText(reply, 405, 'profiling endpoint is disabled.\n'),
    );
  }
}

/** Longer than every number that can be meant. */
const LONGEST_FLAG = 1_024;

/** The one route whose requests have a body that is looked at. */
function addFlagRoute(app: FastifyInstance, logLevel: DebugOptions['logLevel']): void {
  const path = '/debug/flags/v';
  if (logLevel === undefined) {
    app.all(path, (_request, reply) => sendText(reply, 405, 'flags endpoint is disabled.\n'));
    return;
  }
  app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit: LONGEST_FLAG }, (_request, body, parsed) =>
      parsed(null, body),
    );
    scope.setErrorHandler((error, _request, reply) =>
      sendText(reply, 400, `error reading request body: ${toError(error).message}\n`),
    );
    scope.all(path, (request, reply) => {
      if (request.method !== 'PUT') return sendText(reply, 406, 'unsupported http method\n');
      const { status, text } = logLevel.set(typeof request.body === 'string' ? request.body : '');
      return sendText(reply, status, `${text}\n`);
    });
    done();
  });
}
