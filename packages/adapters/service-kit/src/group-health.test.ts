import { expect, test } from '@jest/globals';
import { GroupHealth } from './group-health.ts';
import { serveHttp } from './http.ts';

test('services that share a container are ready when each of them is, and live as long as none needs a restart', async () => {
  const group = new GroupHealth(['prober', 'sync-loop']);
  const served = await serveHttp({ health: group, port: 0 });
  const get = async (path: string) => {
    const response = await fetch(`http://${served.address}${path}`);
    return [response.status, await response.text()] as const;
  };
  try {
    group.begin('prober');
    expect(await get('/readyz')).toEqual([503, '{"ok":false,"checks":{"prober":"ok","sync-loop":"not started"}}']);
    let away: string | undefined = 'not connected to NATS';
    const problem: { stuck?: string } = {};
    const health = group.begin('sync-loop');
    health.ready('bus', () => away);
    health.live('loop', () => problem.stuck);
    expect((await get('/healthz'))[0]).toBe(200);
    expect(await get('/readyz')).toEqual([503, expect.stringContaining('"sync-loop":"bus: not connected to NATS"')]);
    away = undefined;
    expect((await get('/readyz'))[0]).toBe(200);
    problem.stuck = 'has not turned for 60 s';
    expect((await get('/healthz'))[0]).toBe(503);
    // Each service serves its own.
    expect((await get('/metrics'))[0]).toBe(404);
  } finally {
    await served.close();
  }
});
