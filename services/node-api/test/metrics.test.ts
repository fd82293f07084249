import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { poll } from '@kubus/harness';
import type { MetricFamily } from '@kubus/metrics';
import { gunzipSync } from 'node:zlib';
import { countedPath } from '../src/metrics/request-metrics.ts';
import { ApiNode, open, podNamed, runOf } from './api-node.ts';
import { begin, get } from './client.ts';

let node: ApiNode;

beforeAll(async () => {
  node = await ApiNode.make();
});
afterAll(() => node.remove());

const ask = (path: string, method = 'GET') => get(node.api.ports.secure, path, { method });

/** The lines of a metric, without its help. */
async function linesOf(name: string, path = '/metrics'): Promise<string[]> {
  const { text } = await ask(path);
  return text.split('\n').filter((line) => line.startsWith(name) || line.startsWith(`# TYPE ${name} `));
}

describe('the metrics of the node', () => {
  beforeAll(async () => {
    await node.start(open);
  });

  test('include those of its services and the pod counts', async () => {
    const works: MetricFamily = {
      ...{ name: 'kubelet_admission_rejections_total', help: 'Pods.', type: 'counter' },
      samples: [{ labels: { reason: 'Evicted' }, value: 3 }],
    };
    node.syncLoopText = JSON.stringify([works]);
    await node.startSyncLoop();
    const web = podNamed('web');
    node.want('api', web);
    node.runs(web, [runOf('a', ''), runOf('b', '', 'exited')]);
    await poll('node-api has read what sync-loop announces', async () => {
      const { length } = await linesOf('kubelet_admission_rejections_total');
      return length > 0 || undefined;
    });
    const { headers } = await ask('/metrics');
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await linesOf('kubelet_admission_rejections_total')).toEqual([
      '# TYPE kubelet_admission_rejections_total counter',
      'kubelet_admission_rejections_total{reason="Evicted"} 3',
    ]);
    expect(await linesOf('kubelet_desired_pods')).toContain('kubelet_desired_pods{static=""} 1');
    expect(await linesOf('kubelet_running_containers')).toContain(
      'kubelet_running_containers{container_state="exited"} 1',
    );
    expect(await linesOf('kubernetes_build_info')).toContainEqual(expect.stringContaining('major="1",minor="36"'));
    expect(await linesOf('kubus_scrape_errors_total')).toEqual(['# TYPE kubus_scrape_errors_total counter']);
  });

  test('count requests by the reference’s paths', async () => {
    await ask('/pods');
    await ask('/pods/', 'POST');
    await ask('/nowhere/at/all');
    const labels = (method: string, path: string) =>
      `{method="${method}",path="${path}",server_type="readwrite",long_running="false"}`;
    const counted = await linesOf('kubelet_http_requests_total');
    expect(counted).toContain(`kubelet_http_requests_total${labels('GET', 'pods')} 1`);
    expect(counted).toContain(`kubelet_http_requests_total${labels('POST', 'pods')} 1`);
    expect(counted).toContain(`kubelet_http_requests_total${labels('GET', 'other')} 1`);
    expect(await linesOf('kubelet_http_inflight_requests')).toContain(
      `kubelet_http_inflight_requests${labels('GET', 'metrics')} 1`,
    );
    expect(await linesOf('kubelet_http_requests_duration_seconds_count')).toContain(
      `kubelet_http_requests_duration_seconds_count${labels('POST', 'pods')} 1`,
    );
  });

  test('are compressed for clients that accept gzip', async () => {
    const read = async (accepted: string) => {
      const response = await begin(node.api.ports.secure, '/metrics', { headers: { 'accept-encoding': accepted } });
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      return { coding: response.headers['content-encoding'], body: Buffer.concat(chunks) };
    };
    for (const accepted of ['gzip', 'br;q=1, gzip;q=0.5']) {
      const { coding, body } = await read(accepted);
      expect(coding).toBe('gzip');
      expect(gunzipSync(body).toString()).toMatch(/^# TYPE kubelet_running_pods gauge$/m);
    }
    for (const accepted of ['identity', 'gzip;q=0', 'gzip;q=0.0, identity']) {
      expect((await read(accepted)).coding).toBeUndefined();
    }
  });

  test('at /metrics/probes are those of the prober only', async () => {
    const { text } = await ask('/metrics/probes');
    expect(text.split('\n').filter((line) => line.startsWith('# TYPE'))).toEqual([
      '# TYPE process_start_time_seconds gauge',
    ]);
    expect(await linesOf('process_start_time_seconds', '/metrics/slis')).toHaveLength(2);
  });

  test('are not requested from an instance that was scaled away', async () => {
    const errors = async () => {
      const lines = await linesOf('kubus_scrape_errors_total{target="prober"');
      return Number(lines[0]?.split(' ').at(-1) ?? 0);
    };
    await node.hadProber();
    await poll('the instance is counted as missing', async () => (await errors()) > 0 || undefined);
    await node.probers('prober-1');
    await poll('the instance is no longer counted', async () => (await errors()) === (await errors()) || undefined);
    const before = await errors();
    await ask('/metrics');
    expect(await errors()).toBe(before);
    await poll('the service that was stuck is counted', async () => {
      const [line] = await linesOf('kubus_stuck_services_total{target="prober-0"');
      return line?.endsWith(' 2') === true || undefined;
    });
  });

  test('lack those of a service that does not answer, which is counted', async () => {
    await node.killSyncLoop();
    const { status } = await ask('/metrics');
    expect(status).toBe(200);
    expect(await linesOf('kubelet_admission_rejections_total')).toEqual([]);
    expect(await linesOf('kubus_scrape_errors_total')).toContainEqual(
      expect.stringMatching(/^kubus_scrape_errors_total\{target="sync-loop",service="node-api",.*\} [1-9]/),
    );
  });
});

test.each([
  ['/pods/', 'pods'],
  ['/metrics', 'metrics'],
  ['/metrics/probes?x', 'metrics/probes'],
  ['/metrics/slis', 'other'],
  ['/exec/default/web/main?command=ls', 'exec'],
  ['/healthz/ping', 'healthz'],
  ['/', 'other'],
  ['/%2e%2e', 'other'],
])('a request for %s is counted as %s', (path, counted) => {
  expect(countedPath(path)).toBe(counted);
});
