import type { FaultDocument, FaultsDocument, PodSummary } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { live } from '../api/documents.ts';
import { clock, clockSeconds } from '../format/moment.ts';
import { count } from '../format/quantity.ts';
import { walkRows } from '../grid/walk-rows.ts';
import { formatRoute } from '../route/route.ts';

interface Props {
  readonly faults: FaultsDocument;
  readonly pods: readonly PodSummary[];
  readonly busy: boolean;
  readonly onEnd: (id: string) => void;
}

/** The active faults, how often each was applied, and a button to end it. */
export function FaultTable({ faults: { rules, pauses }, pods, busy, onEnd }: Props): ReactNode {
  return (
    <div className="recordings" tabIndex={0} role="group" aria-label="Active faults" data-list="">
      <table onKeyDown={walkRows}>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Fault</th>
            <th scope="col">Since</th>
            <th scope="col">Until</th>
            <th scope="col" className="cell-right">
              Applied
            </th>
            <th scope="col">Last</th>
            <th scope="col">Actions</th>
          </tr>
        </thead>
        <tbody>
          {rules.map((fault) => (
            <tr key={fault.rule.id}>
              <th scope="row">{fault.rule.id}</th>
              <td className="fault-text">{wordsOf(fault, pods)}</td>
              <td>{clockSeconds(fault.since)}</td>
              <td>{fault.ends === undefined ? 'it is ended manually' : clockSeconds(fault.ends)}</td>
              <td className="cell-right">
                <a
                  href={formatRoute({ recording: live, view: 'messages', query: { type: 'fault.event.faulted/1' } })}
                  aria-label={`${fault.rule.id} was applied ${fault.acted} times: show them`}
                >
                  {count(fault.acted)}
                </a>
              </td>
              <td>{fault.actedAt === undefined ? '–' : clock(fault.actedAt)}</td>
              <td>
                <button
                  type="button"
                  disabled={busy}
                  aria-label={`End ${fault.rule.id}`}
                  onClick={() => onEnd(fault.rule.id)}
                >
                  End
                </button>
              </td>
            </tr>
          ))}
          {pauses.map(({ instance, since, ends }) => (
            <tr key={instance}>
              <th scope="row">{instance}</th>
              <td className="fault-text">paused</td>
              <td>{clockSeconds(since)}</td>
              <td>{clockSeconds(ends)}</td>
              <td className="cell-right">–</td>
              <td>–</td>
              <td className="dim">resumes automatically</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rules.length + pauses.length === 0 ? (
        <p className="grid-empty">No fault is active. Inject one with the forms below.</p>
      ) : null}
    </div>
  );
}

/** Users know a pod by its name. */
function wordsOf({ text, rule }: FaultDocument, pods: readonly PodSummary[]): string {
  const { pod: uid } = rule.match;
  const pod = pods.find((one) => one.uid === uid);
  return uid === undefined || pod === undefined ? text : text.replace(uid, `${pod.namespace}/${pod.name}`);
}
