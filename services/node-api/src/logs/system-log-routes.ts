import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { serviceLogs } from './journal.ts';
import { readLogQuery } from './log-query.ts';
import { get, queryOf, sendText } from '../server/routes.ts';
import { openSystemLog } from './system-logs.ts';

export interface SystemLogOptions {
  /** The folder of the machine's logs. */
  readonly folder: string;
  /** Services can be requested by name (enableSystemLogQuery). */
  readonly queries: boolean;
}

/** The program that reads the machine's journal. */
const JOURNAL = 'journalctl';

/**
 * Serves the machine's own logs as a web server serves files (behaviour:http-api), and those of services by name.
 *
 * @param logs undefined: they are not served
 */
export function addSystemLogRoutes(app: FastifyInstance, logs: SystemLogOptions | undefined): void {
  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    if (logs === undefined) return sendText(reply, 405, 'logs endpoint is disabled.\n');
    const { '*': path = '' } = request.params as { '*'?: string };
    const query = logs.queries ? readLogQuery(queryOf(request)) : undefined;
    if (query === undefined) return serveFile(request, reply, logs.folder, path);
    if ('problems' in query) {
      const [first = '', ...more] = query.problems;
      return sendText(reply, 400, `${more.length === 0 ? first : `[${query.problems.join(', ')}]`}\n`);
    }
    if (path !== '') return sendText(reply, 406, 'path not allowed in query mode\n');
    if (query.file !== undefined) return serveFile(request, reply, logs.folder, query.file);
    return reply.type('text/plain;charset=UTF-8').send(serviceLogs(query, { program: JOURNAL, folder: logs.folder }));
  };
  get(app, '/logs', serve);
  get(app, '/logs/*', serve);
}

async function serveFile(
  request: FastifyRequest,
  reply: FastifyReply,
  folder: string,
  path: string,
): Promise<FastifyReply> {
  const found = await openSystemLog(folder, path);
  if (found === undefined) return sendText(reply, 404, '404 page not found\n');
  if ('entries' in found) {
    // Names are relative to the folder, so its own name must end with a slash.
    const [own = ''] = request.url.split('?');
    if (!own.endsWith('/')) return reply.redirect(`${own.slice(own.lastIndexOf('/') + 1)}/`, 301);
    return reply.type('text/html; charset=utf-8').send(listing(found.entries));
  }
  const { file, bytes } = found;
  reply.type(/\.(gz|xz|zst|journal)~?$/.test(path) ? 'application/octet-stream' : 'text/plain; charset=utf-8');
  reply.header('content-length', bytes);
  if (bytes === 0) {
    await file.close();
    return reply.send('');
  }
  // A file that grows during the transfer is sent with the length that it had at first.
  return reply.send(file.createReadStream({ start: 0, end: bytes - 1 }));
}

function listing(entries: readonly string[]): string {
  const lines = entries.map((name) => {
    const target = name.split('/').map(encodeURIComponent).join('/');
    // Such as `a:b`, which would be read as an address.
    return `<a href="./${target}">${escaped(name)}</a>\n`;
  });
  return `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join('')}</pre>\n`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
