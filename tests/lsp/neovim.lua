-- Opens a file in Neovim with the server, waits, hovers, applies a fix, and writes what it saw.
-- Sourced by test_editors.py, in an editor without a screen and without settings.

local file, root, python, output = vim.env.TL_FILE, vim.env.TL_ROOT, vim.env.TL_PYTHON, vim.env.TL_OUT
local seen = { found = {} }

local function finish(reason)
  seen.reason = reason
  local handle = io.open(output, "w")
  handle:write(vim.fn.json_encode(seen))
  handle:close()
  vim.cmd("qall!")
end

local function wait(what, holds)
  if not vim.wait(30000, holds, 20) then finish("timed out: " .. what) end
end

local function run()
  vim.cmd("edit " .. file)
  local buffer = vim.api.nvim_get_current_buf()
  local client = vim.lsp.start_client({
    name = "tilelint",
    cmd = { python, "-m", "verifier", "lsp" },
    root_dir = root,
  })
  vim.lsp.buf_attach_client(buffer, client)
  wait("diagnostics", function() return #vim.diagnostic.get(buffer) > 0 end)
  local wanted
  for _, found in ipairs(vim.diagnostic.get(buffer)) do
    seen.found[#seen.found + 1] = { line = found.lnum, message = found.message, source = found.source }
    if found.code == "partition-extent" or
        (found.user_data and found.user_data.lsp.code == "partition-extent") then
      wanted = wanted or found
    end
  end
  seen.count = #vim.diagnostic.get(buffer)

  -- hover over the tile that is made in that line
  local position = { line = wanted.lnum, character = 4 }
  local document = vim.lsp.util.make_text_document_params(buffer)
  local answers = vim.lsp.buf_request_sync(buffer, "textDocument/hover",
    { textDocument = document, position = position }, 30000)
  for _, answer in pairs(answers or {}) do
    seen.hover = answer.result and answer.result.contents.value
  end

  -- apply the fix that inserts the precondition
  local range = wanted.user_data and wanted.user_data.lsp.range or {
    start = { line = wanted.lnum, character = wanted.col },
    ["end"] = { line = wanted.end_lnum, character = wanted.end_col },
  }
  answers = vim.lsp.buf_request_sync(buffer, "textDocument/codeAction", {
    textDocument = document, range = range, context = { diagnostics = {} },
  }, 30000)
  for id, answer in pairs(answers or {}) do
    for _, action in ipairs(answer.result or {}) do
      if action.edit and action.title:find("assert") then
        seen.action = action.title
        local encoding = vim.lsp.get_client_by_id(id).offset_encoding
        vim.lsp.util.apply_workspace_edit(action.edit, encoding)
        break
      end
    end
  end
  wait("the finding to go", function()
    for _, found in ipairs(vim.diagnostic.get(buffer)) do
      if found.severity <= vim.diagnostic.severity.WARN then return false end
    end
    return true
  end)
  seen.text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
  vim.lsp.stop_client(client)
  finish("done")
end

local ok, problem = pcall(run)
if not ok then finish(tostring(problem)) end
