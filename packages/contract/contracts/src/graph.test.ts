import { describe, expect, test } from '@jest/globals';
import * as contracts from './index.ts';
import type { serviceContracts } from './index.ts';
import {
  type AnyDeclaration,
  type ServiceName,
  clearFault,
  contractsOf,
  criCommands,
  disturbService,
  everyServiceReads,
  faultContracts,
  faulted,
  injectFault,
  instanceJournal,
  refusedMessage,
  serviceInstance,
  serviceNames,
  typeOf,
} from './index.ts';

/** Every declaration that this package exports, in records too. */
const declared = [...new Set(declarationsIn(Object.values(contracts)))];
/** Messages of every service: its announcement, its journal, the messages it refused, and the faults applied to its messages. */
const ofEveryService: readonly AnyDeclaration[] = [serviceInstance, refusedMessage, instanceJournal, faulted];

function declarationsIn(values: readonly unknown[]): AnyDeclaration[] {
  return values.flatMap((value) => {
    if (isDeclaration(value)) return [value];
    return isPlainRecord(value) ? Object.values(value).filter(isDeclaration) : [];
  });
}

function isDeclaration(value: unknown): value is AnyDeclaration {
  return isPlainRecord(value) && ['fact', 'cmd', 'event'].includes(String(value['kind'])) && 'area' in value;
}

function isPlainRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** The services that have `declaration` in one of their lists. */
function having(list: 'owns' | 'reads' | 'serves' | 'calls' | 'publishes' | 'hears', declaration: AnyDeclaration) {
  return serviceNames.filter((name) => (faultContracts[name][list] as readonly unknown[]).includes(declaration));
}

/** The service that a declaration names as its writer or server. */
function responsible(declaration: AnyDeclaration): ServiceName | 'each' {
  if (declaration.kind === 'fact') return declaration.owner;
  return declaration.kind === 'cmd' ? declaration.server : declaration.publisher;
}

const responsibility = { fact: 'owns', cmd: 'serves', event: 'publishes' } as const;
const ofOne = declared.filter((declaration) => !ofEveryService.includes(declaration));

describe('the declarations', () => {
  test('are all found, and each has its own subject', () => {
    expect(declared.length).toBeGreaterThan(50);
    const names = declared.map(({ area, kind, name }) => `${area}.${kind}.${name}`);
    expect(names).toEqual([...new Set(names)]);
    for (const name of names) expect(name).toMatch(/^[a-z]+\.(fact|cmd|event)\.[A-Za-z]+$/);
  });

  test('have a description of at least one sentence', () => {
    expect(declared.filter(({ about }) => !/^[A-Z].*\.$/.test(about)).map(typeOf)).toEqual([]);
  });
});

describe('the services', () => {
  test.each(ofOne.map((declaration) => [typeOf(declaration), declaration] as const))(
    '%s is written or served only by the service that it names',
    (_type, declaration) => {
      expect(having(responsibility[declaration.kind], declaration)).toEqual([responsible(declaration)]);
    },
  );

  test('list only declared messages', () => {
    const listed = Object.values(faultContracts).flatMap(({ about: _about, ...lists }) =>
      Object.values<readonly AnyDeclaration[]>(lists).flat(),
    );
    expect(listed.filter((one) => !declared.includes(one))).toEqual([]);
  });

  test('list no message twice', () => {
    for (const name of serviceNames) {
      const { about: _about, ...lists } = faultContracts[name];
      for (const list of Object.values<readonly unknown[]>(lists)) expect(list).toEqual([...new Set(list)]);
    }
  });

  test('use every fact and command of the node, except CRI calls, which future services may use', () => {
    const runtimeCalls: readonly unknown[] = Object.values(criCommands);
    const unused = ofOne
      .filter((one) => one.kind !== 'event' && !runtimeCalls.includes(one))
      .filter((one) => !(everyServiceReads as readonly unknown[]).includes(one))
      .filter((one) => having(one.kind === 'fact' ? 'reads' : 'calls', one).length === 0);
    expect(unused.map(typeOf)).toEqual([]);
  });

  test('have no messages about faults on a node without faults; on a node with faults, all that can be disturbed publish them', () => {
    const ofFaults = declared.filter(
      ({ area, name }) => area === 'fault' || ['injectFault', 'clearFault', 'disturb'].includes(name),
    );
    expect(ofFaults).toHaveLength(6);
    const listed = (contracts: typeof serviceContracts) =>
      serviceNames.filter((name) => {
        const { about: _about, ...lists } = contracts[name];
        return Object.values<readonly AnyDeclaration[]>(lists)
          .flat()
          .some((one) => ofFaults.includes(one));
      });
    expect(listed(contractsOf({ faults: false }))).toEqual([]);
    expect(listed(contractsOf({ faults: true }))).toEqual(serviceNames);
    const undisturbed: readonly ServiceName[] = ['launcher', 'observatory', 'cli'];
    expect(having('publishes', faulted)).toEqual(serviceNames.filter((name) => !undisturbed.includes(name)));
    for (const command of [injectFault, clearFault, disturbService]) {
      expect(having('calls', command)).toEqual(['observatory', 'cli']);
    }
  });

  test('do not send commands to themselves', () => {
    for (const name of serviceNames) {
      const { serves, calls, publishes, hears } = faultContracts[name];
      expect(calls.filter((one) => serves.includes(one))).toEqual([]);
      expect(hears.filter((one) => publishes.includes(one))).toEqual([]);
    }
  });
});
