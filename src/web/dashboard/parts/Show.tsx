/** A loaded value, or a loading or error message while there is none. */
import type { ComponentChildren, JSX } from "preact"
import * as words from "../words.ts"
import type { Loaded } from "./load.ts"

/** @param what names the value, for the loading message */
export const Show = <A,>({
  of,
  what,
  children,
}: {
  readonly of: Loaded<A>
  readonly what: string
  readonly children: (value: A) => ComponentChildren
}): JSX.Element => {
  if (of.value !== undefined) {
    return (
      <>
        {of.failure !== undefined && (
          <p class="notice" role="alert">
            This may be out of date. {words.failure(of.failure)}
            {of.failure.kind === "unreachable" && " Retrying automatically."}
          </p>
        )}
        {children(of.value)}
      </>
    )
  }
  if (of.failure === undefined) {
    return (
      <div class="state" role="status">
        <p>Loading {what}…</p>
        <div class="indeterminate" aria-hidden="true" />
      </div>
    )
  }
  return (
    <div class="state" role="alert">
      <p>
        <strong>Couldn’t load {what}.</strong>
      </p>
      <p>
        {words.failure(of.failure)}
        {of.failure.kind === "unreachable" && " Retrying automatically."}
      </p>
      <button type="button" onClick={of.reload} aria-disabled={of.loading}>
        {of.loading ? "Retrying…" : "Retry now"}
      </button>
    </div>
  )
}

/** An empty list: why it is empty, and what to do. */
export const Empty = ({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}): JSX.Element => (
  <div class="state">
    <p>
      <strong>{title}</strong>
    </p>
    {children}
  </div>
)
