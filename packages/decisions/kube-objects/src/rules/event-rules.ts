import { immutableField, invalidField, requiredField } from '../field-problems.ts';
import { type Json, asText, at, sameJson } from '../json.ts';
import type { KubeObject } from '../object.ts';
import type { FieldProblem } from '../status.ts';
import { plainRules } from './plain-rules.ts';
import type { Rules } from './rules.ts';

/** The fields that the API always writes. */
export const EVENT_FIELDS = {
  involvedObject: {},
  source: {},
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  reportingComponent: '',
  reportingInstance: '',
};

/** The same in the group events.k8s.io. */
export const EVENTS_V1_FIELDS = {
  eventTime: null,
  regarding: {},
  deprecatedSource: {},
  deprecatedFirstTimestamp: null,
  deprecatedLastTimestamp: null,
};

/** How the fields of an event of core are called in events.k8s.io. Source: pkg/apis/events/v1/conversion.go. */
const NAMES: readonly (readonly [string, string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];
const TO_EVENTS = new Map(NAMES);
const TO_CORE = new Map(NAMES.map(([core, events]) => [events, core]));

/** An event of core as one of events.k8s.io. */
export function eventsV1(event: KubeObject): KubeObject {
  const { reportingInstance, reportingController, ...others } = renamed(event, TO_EVENTS);
  return {
    ...EVENTS_V1_FIELDS,
    ...others,
    ...(asText(reportingController) !== '' && { reportingController }),
    ...(asText(reportingInstance) !== '' && { reportingInstance }),
    apiVersion: 'events.k8s.io/v1',
  };
}

/** An event of events.k8s.io as one of core. */
export function coreEvent(event: KubeObject): KubeObject {
  return { ...EVENT_FIELDS, ...renamed(event, TO_CORE), apiVersion: 'v1' };
}

function renamed(event: KubeObject, names: ReadonlyMap<string, string>): KubeObject {
  const fields = Object.entries(event).map(([field, value]) => [names.get(field) ?? field, value]);
  return Object.fromEntries(fields) as KubeObject;
}

/** Events of the core group. Source: pkg/registry/core/event. */
export const eventRules: Rules = {
  ...plainRules,
  createOnUpdate: true,
  defaults: (event) => ({ ...EVENT_FIELDS, ...event }),
  validate: (event) => problems(event, 'reportingComponent'),
};

/** Events of events.k8s.io, which are held to more. Source: pkg/apis/core/validation/events.go. */
export const eventsV1Rules: Rules = {
  ...eventRules,
  defaults: (event) => ({ ...EVENTS_V1_FIELDS, ...event }),
  validate: (given, previous) => {
    const event = coreEvent(given);
    return [
      ...problems(event, 'reportingController'),
      ...(previous === undefined ? ofNew(event) : ofChanged(event, coreEvent(previous))),
    ];
  },
};

const LONGEST = 128;
const LONGEST_NOTE = 1024;

/** @param controller what the request's group calls the field `reportingComponent`. */
function problems(event: KubeObject, controller: string): FieldProblem[] {
  const { namespace = '' } = event.metadata;
  const about = asText(at(event, 'involvedObject', 'namespace'));
  const elsewhere = invalidField('involvedObject.namespace', about, 'does not match event.namespace');
  if (isUnset(event['eventTime'])) {
    return about === namespace || (about === '' && namespace === 'default') ? [] : [elsewhere];
  }
  const text = (field: string) => asText(event[field]);
  const bounded = (field: string, limit = LONGEST) =>
    text(field).length > limit ? [invalidField(field, '', `can have at most ${limit} characters`)] : [];
  const needed = (field: string, name = field) => (text(field) === '' ? [requiredField(name)] : []);
  return [
    ...(about === '' && !['default', 'kube-system'].includes(namespace) ? [elsewhere] : []),
    ...needed('reportingComponent', controller),
    ...needed('reportingInstance'),
    ...bounded('reportingInstance'),
    ...needed('action'),
    ...bounded('action'),
    ...needed('reason'),
    ...bounded('reason'),
    ...bounded('message', LONGEST_NOTE),
  ];
}

function ofNew(event: KubeObject): FieldProblem[] {
  const unset = (field: string, is: boolean) => (is ? [] : [invalidField(field, '', 'needs to be unset')]);
  const { type, source } = event;
  return [
    ...ofSeries(event['series']),
    ...(isUnset(event['eventTime']) ? [requiredField('eventTime')] : []),
    ...(type === 'Normal' || type === 'Warning'
      ? []
      : [invalidField('type', '', `has invalid value: ${asText(type)}`)]),
    ...unset('firstTimestamp', isUnset(event['firstTimestamp'])),
    ...unset('lastTimestamp', isUnset(event['lastTimestamp'])),
    ...unset('count', (event['count'] ?? 0) === 0),
    ...unset('source', asText(at(source, 'component')) === '' && asText(at(source, 'host')) === ''),
  ];
}

const FIXED = [
  ...['involvedObject', 'reason', 'message', 'source', 'firstTimestamp', 'lastTimestamp', 'count', 'type'],
  ...['eventTime', 'action', 'related', 'reportingComponent', 'reportingInstance'],
];

function ofChanged(event: KubeObject, previous: KubeObject): FieldProblem[] {
  const changed = FIXED.filter((field) => !sameJson(event[field], previous[field]));
  return [
    ...(sameJson(event['series'], previous['series']) ? [] : ofSeries(event['series'])),
    ...changed.map((field) => {
      const name = field === 'reportingComponent' ? 'reportingController' : field;
      return immutableField(name, event[field] ?? '');
    }),
  ];
}

function ofSeries(series: Json | undefined): FieldProblem[] {
  if (isUnset(series)) return [];
  return [
    ...(Number(at(series, 'count') ?? 0) < 2 ? [invalidField('series.count', '', 'should be at least 2')] : []),
    ...(isUnset(at(series, 'lastObservedTime')) ? [requiredField('series.lastObservedTime')] : []),
  ];
}

const isUnset = (value: Json | undefined) => value === undefined || value === null;
