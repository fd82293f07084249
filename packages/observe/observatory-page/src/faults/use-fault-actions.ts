import type { NewFault, NewServiceFault } from '@kubus/contracts/observatory';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { address } from '../api/address.ts';
import { useApi } from '../api/api-context.ts';

export type FaultAction =
  | { readonly do: 'inject'; readonly fault: NewFault }
  | { readonly do: 'end'; readonly id: string }
  | { readonly do: 'end-all' }
  | { readonly do: 'disturb'; readonly service: string; readonly fault: NewServiceFault };

/** The actions on faults. One at a time; the list is read again afterwards. */
export function useFaultActions() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (action: FaultAction): Promise<void> => {
      switch (action.do) {
        case 'inject':
          return api.post('/faults', action.fault);
        case 'end':
          return api.remove(address(['faults', action.id]));
        case 'end-all':
          return api.remove('/faults');
        case 'disturb':
          return api.post(address(['services', action.service, 'fault']), action.fault);
      }
    },
    onSettled: () => queries.invalidateQueries({ predicate: ({ queryKey: [path] }) => path === '/faults' }),
  });
}
