import { toError } from '@kubus/ports';
import type { FastifyInstance } from 'fastify';
import type { LogLevel } from './log-level.ts';
import { addProfileRoutes } from './profile-routes.ts';
import { sendText } from '../server/routes.ts';
import { type ZpagesOptions, addZpages } from './zpages.ts';

/** What the debug pages show, and which of them are served. */
export interface DebugOptions extends ZpagesOptions {
  /** Set by /debug/flags/v; undefined: the route is disabled (enableDebugFlagsHandler). */
  readonly logLevel: Pick<LogLevel, 'set'> | undefined;
  /** enableProfilingHandler */
  readonly profiling: boolean;
}

/** Adds the pages on which a process describes itself (behaviour:http-api). */
export function addDebugRoutes(app: FastifyInstance, options: DebugOptions): void {
  addZpages(app, options);
  addFlagRoute(app, options.logLevel);
  addProfileRoutes(app, options.profiling);
}

/** Longer than every valid number. */
const LONGEST_FLAG = 1_024;

/** The only route that reads the body of a request. */
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
