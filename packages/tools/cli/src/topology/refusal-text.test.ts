import { expect, test } from '@jest/globals';
import { refusalText } from './refusal-text.ts';

const reason = 'TopologyAffinityError';
const message = 'Resources cannot be allocated with Topology locality';

test('a refusal names the hints of each provider and what they make together', () => {
  const hints = (...sets: [string, boolean][]) => sets.map(([nodes, preferred]) => ({ nodes, preferred }));
  const resources = [
    { resource: 'example.com/gpu', hints: hints(['0', true]) },
    { resource: 'cpu', hints: hints(['1', true], ['0-1', false]), leftOut: 2 },
    { resource: 'memory', hints: [] },
    { resource: 'example.com/nic' },
  ];
  const merge = { policy: 'restricted', container: 'main', resources, nodes: '0', preferred: false };
  expect(refusalText({ reason, message, by: 'topology', merge }).split('\n')).toEqual([
    'refused by the topology manager: TopologyAffinityError: Resources cannot be allocated with Topology locality',
    'of container main, policy restricted',
    '',
    'RESOURCE          NUMA NODES THAT HAVE IT (* no fewer would do)',
    'example.com/gpu   0*',
    'cpu               1*  0-1  and 2 more',
    'memory            none',
    'example.com/nic   any',
    '',
    'best of all combinations: nodes 0, not preferred: not all resources come from these nodes at their least number',
  ]);
});

test('without a topology policy only the manager is named', () => {
  const refusal = { reason: 'UnexpectedAdmissionError', message: 'Allocate failed', by: undefined, merge: undefined };
  expect(refusalText(refusal)).toBe('refused by the device manager: UnexpectedAdmissionError: Allocate failed');
});
