import type { PodSummary } from '@kubus/contracts/observatory';
import { age } from '../format/moment.ts';
import { count, duration } from '../format/quantity.ts';
import type { Column } from '../grid/DataGrid.tsx';
import { formatRoute } from '../route/route.ts';
import { PodStateMark } from '../theme/PodStateMark.tsx';
import { stateWords } from '../theme/pod-states.ts';

/** Columns of a list of pods. */
export function podColumns(recording: string, now: number): readonly Column<PodSummary>[] {
  return [
    {
      id: 'name',
      title: 'Pod',
      width: 'minmax(150px, 2fr)',
      value: ({ name }) => name,
      cell: ({ name, uid }) => (
        <a tabIndex={-1} href={formatRoute({ recording, view: 'pods', pod: uid, query: {} })} title={uid}>
          {name}
        </a>
      ),
    },
    {
      id: 'state',
      title: 'State',
      width: 'minmax(150px, 1.3fr)',
      value: ({ state, reason }) => stateWords(state, reason),
      cell: ({ state, reason }) => <PodStateMark state={state} reason={reason} />,
    },
    {
      id: 'namespace',
      title: 'Namespace',
      width: 'minmax(84px, 1fr)',
      value: ({ namespace }) => namespace,
      cell: ({ namespace }) => namespace,
    },
    {
      id: 'start',
      title: 'Start',
      hint: 'From the first message of the pod’s source to the status that says Ready',
      width: '82px',
      align: 'right',
      descendingFirst: true,
      value: ({ startMs }) => startMs,
      cell: ({ startMs }) => (startMs === undefined ? '–' : duration(startMs)),
    },
    {
      id: 'stop',
      title: 'Stop',
      hint: 'From the removal of the pod at its source to the worker’s message that everything of it is removed',
      width: '82px',
      align: 'right',
      descendingFirst: true,
      value: ({ stopMs }) => stopMs,
      cell: ({ stopMs }) => (stopMs === undefined ? '–' : duration(stopMs)),
    },
    {
      id: 'messages',
      title: 'Messages',
      width: '84px',
      align: 'right',
      descendingFirst: true,
      value: ({ messages }) => messages,
      cell: ({ messages }) => count(messages),
    },
    {
      id: 'last',
      title: 'Last',
      hint: 'How long ago its last message was',
      width: '70px',
      align: 'right',
      descendingFirst: true,
      value: ({ lastAt }) => lastAt,
      cell: ({ lastAt }) => age(lastAt, now),
    },
  ];
}
