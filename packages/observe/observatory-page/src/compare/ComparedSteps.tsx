import type { ComparedStep, Comparison } from '@kubus/contracts/observatory';
import { type ReactNode, useMemo, useState } from 'react';
import { counted, difference, duration } from '../format/quantity.ts';
import { type Column, DataGrid } from '../grid/DataGrid.tsx';
import { useSorted } from '../grid/use-sorted.ts';
import { ServiceName } from '../shell/ServiceName.tsx';
import { countVerdicts, verdictWords } from './compared.ts';

/** Two stories step by step. */
export function ComparedSteps({ comparison }: { readonly comparison: Comparison }): ReactNode {
  const { left, right, steps } = comparison;
  const [onlyDifferent, setOnlyDifferent] = useState(false);
  const shown = useMemo(
    () => (onlyDifferent ? steps.filter(({ verdict }) => verdict !== 'same') : steps),
    [steps, onlyDifferent],
  );
  const columns = useMemo(() => stepColumns(steps), [steps]);
  const { sorted, sort, setSort } = useSorted(shown, columns, 'sort');
  const counts = countVerdicts(steps);
  return (
    <>
      <div className="toolbar">
        <span role="status">
          Left <strong>{duration(left.ms)}</strong> ({counted(left.pods, 'pod')}), right{' '}
          <strong>{duration(right.ms)}</strong> ({counted(right.pods, 'pod')}):{' '}
          <strong>{difference(right.ms - left.ms)}</strong>
        </span>
        <span className="dim">
          {counts.slower} slower, {counts.faster} faster, {counts.missing} missing, {counts.added} added, {counts.same}{' '}
          same
        </span>
        <span className="spacer" />
        <label className="inline">
          <input type="checkbox" checked={onlyDifferent} onChange={({ target }) => setOnlyDifferent(target.checked)} />
          only what differs
        </label>
      </div>
      <DataGrid
        label="Steps of both sides"
        columns={columns}
        count={sorted.length}
        rowAt={(index) => sorted[index]}
        keyOf={({ step }) => step}
        sort={sort}
        onSort={setSort}
        empty={
          steps.length === 0
            ? 'No pod on either side has completed a step. Choose other recordings, or the other path.'
            : 'Nothing differs. Untick “only what differs” to see all steps.'
        }
      />
    </>
  );
}

function stepColumns(steps: readonly ComparedStep[]): readonly Column<ComparedStep>[] {
  const places = new Map(steps.map((step, index) => [step, index + 1]));
  const most = Math.max(0.001, ...steps.flatMap(({ left = 0, right = 0 }) => [left, right]));
  return [
    {
      id: 'place',
      title: '#',
      width: '40px',
      align: 'right',
      value: (step) => places.get(step),
      cell: (step) => <span className="dim">{places.get(step)}</span>,
    },
    {
      id: 'service',
      title: 'Service',
      width: '146px',
      value: ({ service }) => service,
      cell: ({ service }) => <ServiceName service={service} />,
    },
    {
      id: 'step',
      title: 'Step',
      width: 'minmax(180px, 1fr)',
      value: ({ step }) => step,
      cell: ({ step }) => <span title={step}>{step}</span>,
    },
    sideColumn('left', 'Left'),
    sideColumn('right', 'Right'),
    {
      id: 'bars',
      title: 'left above right',
      width: 'minmax(90px, 170px)',
      cell: ({ left = 0, right = 0 }) => (
        <span className="pair" aria-hidden="true">
          <span className="pair-left" style={{ width: `${(left / most) * 100}%` }} />
          <span className="pair-right" style={{ width: `${(right / most) * 100}%` }} />
        </span>
      ),
    },
    {
      id: 'verdict',
      title: 'Right side is',
      width: '190px',
      descendingFirst: true,
      value: ({ left = 0, right = 0 }) => right - left,
      cell: (step) => <span className={`verdict verdict-${step.verdict}`}>{verdictWords(step)}</span>,
    },
  ];
}

function sideColumn(id: 'left' | 'right', title: string): Column<ComparedStep> {
  return {
    id,
    title,
    width: '84px',
    align: 'right',
    descendingFirst: true,
    value: (step) => step[id],
    cell: (step) => {
      const ms = step[id];
      return ms === undefined ? <span className="dim">–</span> : duration(ms);
    },
  };
}
