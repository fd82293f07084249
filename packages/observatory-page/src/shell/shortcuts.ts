import { places } from './places.ts';
import type { View } from '../route/route.ts';

export type Shortcut =
  { readonly do: 'go'; readonly view: View } | { readonly do: 'wait' | 'help' | 'filter' | 'theme' | 'close' };

/**
 * What a key means outside of fields; undefined when it means nothing here.
 *
 * @param waiting `g` was the key before.
 */
export function shortcutOf(key: string, waiting: boolean): Shortcut | undefined {
  if (waiting) {
    const place = places.find((one) => one.key === key);
    return place && { do: 'go', view: place.view };
  }
  switch (key) {
    case 'g':
      return { do: 'wait' };
    case '?':
      return { do: 'help' };
    case '/':
      return { do: 'filter' };
    case 't':
      return { do: 'theme' };
    case 'Escape':
      return { do: 'close' };
    default:
      return undefined;
  }
}
