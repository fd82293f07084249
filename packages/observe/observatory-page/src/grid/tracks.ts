/** The minimum width of tracks of a CSS grid such as `84px` or `minmax(150px, 2fr)`, in pixels. */
export function narrowestOf(tracks: readonly string[]): number {
  return tracks.reduce((sum, track) => sum + Number(/(\d+)px/.exec(track)?.[1] ?? 0), 0);
}
