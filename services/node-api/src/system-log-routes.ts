import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { get, sendText } from './routes.ts';
import { openSystemLog } from './system-logs.ts';

/**
 * Serves the machine's own logs as a web server serves files (kubelet behaviour 5).
 *
 * @param folder where they lie; undefined: they are not to be seen
 */
export function addSystemLogRoutes(app: FastifyInstance, folder: string | undefined): void {
  const serve = async (request: FastifyRequest, reply: FastifyReply) => {
    if (folder === undefined) return sendText(reply, 405, 'logs endpoint is disabled.\n');
    const { '*': path = '' } = request.params as { '*'?: string };
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
    reply.header('content-length', bytes).header('x-content-type-options', 'nosniff');
    if (bytes === 0) {
      await file.close();
      return reply.send('');
    }
    // A file that grows meanwhile is sent as long as it was.
    return reply.send(file.createReadStream({ start: 0, end: bytes - 1 }));
  };
  get(app, '/logs', serve);
  get(app, '/logs/*', serve);
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
