import type { FastifyInstance } from 'fastify';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.map': 'application/json; charset=utf-8',
};

/** What the page may load and connect to: only its own origin. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/**
 * Serves only the files that are in the folder at this time: a path is looked up among them and never used as a file
 * path. When the folder does not exist, the root path answers with a message about it.
 */
export function addPage(app: FastifyInstance, folder: string | undefined): void {
  const files = new Map(filesIn(folder).map((file) => [`/${relative(folder ?? '', file).replaceAll(sep, '/')}`, file]));
  const index = files.get('/index.html');
  if (index !== undefined) files.set('/', index);
  app.get('/*', async (request, reply) => {
    const [path = '/'] = request.url.split('?', 1);
    const file = files.get(path);
    if (file === undefined) {
      const text =
        files.size === 0 ? 'The page is not built; the API is below /api/v1.\n' : 'This page does not exist.\n';
      return reply.code(404).type('text/plain; charset=utf-8').send(text);
    }
    return reply
      .type(types[extname(file)] ?? 'application/octet-stream')
      .header('content-security-policy', POLICY)
      .header('x-content-type-options', 'nosniff')
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', path.startsWith('/assets/') ? 'max-age=31536000, immutable' : 'no-cache')
      .send(await readFile(file));
  });
}

function filesIn(folder: string | undefined): string[] {
  if (folder === undefined) return [];
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    return [];
  }
}
