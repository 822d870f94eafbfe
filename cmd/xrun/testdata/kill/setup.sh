set -e
echo "start setup.1" >>"$RAN/log"
sleep 0.1
echo tool >"$XRUN_SETUP_DIR/tool"
