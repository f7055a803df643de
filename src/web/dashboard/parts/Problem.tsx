/** Why a request failed, unless the form shows it at its fields. */
import type { JSX } from "preact"
import type { Failure } from "../client.ts"
import * as words from "../words.ts"

export const Problem = ({ of }: { readonly of: Failure | undefined }): JSX.Element | null =>
  of === undefined || (of.kind === "refused" && of.fields !== undefined) ? null : (
    <p class="error" role="alert">
      {words.failure(of)}
    </p>
  )
