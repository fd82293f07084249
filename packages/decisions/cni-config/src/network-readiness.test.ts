import { expect, test } from '@jest/globals';
import { CniError } from './cni-error.ts';
import { chooseConfig } from './network-config.ts';
import { networkReadiness } from './network-readiness.ts';

const valid = { name: '10-pods.conf', content: '{"cniVersion":"1.1.0","name":"pods","type":"bridge"}' };
const broken = { name: '05-broken.conf', content: '{' };

test('the network is ready with the first valid file, even if other files are broken', () => {
  expect(networkReadiness({ recovered: true, config: chooseConfig([broken, valid]) })).toEqual({
    ready: true,
    reason: '',
    message: '',
    network: 'pods',
    file: '10-pods.conf',
    broken: [{ file: '05-broken.conf', error: expect.stringMatching(/^05-broken\.conf: is not JSON/) }],
  });
});

test.each([
  ['no valid file', true, [broken], undefined, 'cni plugin not initialized'],
  ['attachments not read yet', false, [valid], undefined, 'the attachments of the last run are not read yet'],
  ['STATUS fails', true, [valid], new CniError(50, 'no controller'), 'no controller'],
])('the network is not ready: %s', (_, recovered, files, status, problem) => {
  expect(networkReadiness({ recovered, config: chooseConfig(files), status })).toMatchObject({
    ready: false,
    reason: 'NetworkPluginNotReady',
    message: `Network plugin returns error: ${problem}`,
  });
});
