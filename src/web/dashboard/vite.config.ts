/** Builds the dashboard into `dist/web/dashboard`. */
import type { UserConfig } from "vite"
import { pageConfig } from "../vite.config.ts"

const config: UserConfig = {
  ...pageConfig("dashboard"),
  // shared styles and icon
  publicDir: false,
}

export default config
