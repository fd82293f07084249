import type { FaultsDocument } from '@kubus/contracts/observatory';
import { type ReactNode, useId } from 'react';
import { live, useFaults, useObservatory, usePods } from '../api/documents.ts';
import { disturbable } from '../theme/services.ts';
import { EmptyState } from '../shell/EmptyState.tsx';
import { Failure } from '../shell/Failure.tsx';
import { Reading } from '../shell/Reading.tsx';
import { FaultForm } from './FaultForm.tsx';
import { FaultTable } from './FaultTable.tsx';
import { ServiceFaultForm } from './ServiceFaultForm.tsx';
import { faultOf } from './fault-draft.ts';
import { type FaultAction, useFaultActions } from './use-fault-actions.ts';
import './faults.css';

const doing: Readonly<Record<FaultAction['do'], string>> = {
  inject: 'inject the fault',
  end: 'end the fault',
  'end-all': 'end the faults',
  disturb: 'inject the fault into the service',
};

/** The active faults and the forms to inject more; on a node without faults, how to allow them. */
export function FaultsView(): ReactNode {
  const observatory = useObservatory().data;
  const faults = useFaults();
  return (
    <div className="story faults">
      <h1 className="visually-hidden">Faults</h1>
      {observatory?.node === undefined ? (
        <EmptyState title="There is no node to inject faults into">
          Only files are open; there is no node. <code>./kubus up --observatory --faults</code> starts a node that
          accepts faults from here.
        </EmptyState>
      ) : !observatory.faults ? (
        <EmptyState title="This node was started without faults">
          It accepts no faults. <code>./kubus up --observatory --faults</code> starts one whose messages can be dropped,
          delayed, duplicated and reordered from here, and whose services can be paused, killed and restarted.
        </EmptyState>
      ) : (
        <Reading of={faults} what="the faults">
          {(document) => <Controls faults={document} />}
        </Reading>
      )}
    </div>
  );
}

function Controls({ faults }: { readonly faults: FaultsDocument }): ReactNode {
  const pods = usePods(live).data ?? [];
  const actions = useFaultActions();
  const services = useId();
  const { variables: last } = actions;
  const some = faults.rules.length + faults.pauses.length > 0;
  return (
    <>
      <div className="panel-head">
        <h2>Active faults</h2>
        <button
          type="button"
          className="danger"
          disabled={actions.isPending || !some}
          onClick={() => actions.mutate({ do: 'end-all' })}
        >
          End all
        </button>
        <span className="dim">
          They act on this node, whichever recording is shown, and end with its launcher at the latest.
        </span>
      </div>
      <FaultTable
        faults={faults}
        pods={pods}
        busy={actions.isPending}
        onEnd={(id) => actions.mutate({ do: 'end', id })}
      />
      {actions.isError && last !== undefined ? <Failure error={actions.error} doing={doing[last.do]} /> : null}
      <FaultForm
        busy={actions.isPending}
        services={services}
        onInject={(draft) => actions.mutate({ do: 'inject', fault: faultOf(draft) })}
      />
      <ServiceFaultForm
        busy={actions.isPending}
        services={services}
        onInject={(service, fault) => actions.mutate({ do: 'disturb', service, fault })}
      />
      <datalist id={services}>
        {disturbable.map((service) => (
          <option key={service} value={service} />
        ))}
      </datalist>
    </>
  );
}
