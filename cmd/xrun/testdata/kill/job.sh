# job.sh EXPERIMENT I [MODEL]: every start and every end is a line in $RAN/log.
set -e
echo "start $1.$2" >>"$RAN/log"
sleep 0.$(($2 % 2))$(($2 % 3 * 3 + 2))
case $1 in
base)
	mkdir -p "$XRUN_OUT"
	echo "model $2" >"$XRUN_OUT/model"
	;;
child)
	read -r word which <"$3"
	echo "from $word $which"
	test "$which" = 2 || exit 9
	;;
fails)
	echo "it cannot work"
	echo "end $1.$2" >>"$RAN/log"
	exit 3
	;;
flaky)
	if ! test -e "$RAN/flaky.$2"; then
		: >"$RAN/flaky.$2"
		echo "not yet"
		exit 7
	fi
	;;
steps)
	if ! test -e "$XRUN_CHECKPOINT_DIR/step"; then
		echo 5 >"$XRUN_CHECKPOINT_DIR/step"
		kill -9 $$
	fi
	echo "resumed $XRUN_RESUMED at step $(cat "$XRUN_CHECKPOINT_DIR/step")"
	;;
judged)
	mkdir -p "$XRUN_OUT"
	echo "0.$2" >"$XRUN_OUT/pred"
	;;
tools)
	test -s "$XRUN_SETUP_DIR/tool" || exit 9
	;;
curve)
	for step in 1 2 3 4 5; do
		echo "step=$step loss=0.$step"
		sleep 0.02
	done
	;;
esac
echo "score=0.$2"
echo "end $1.$2" >>"$RAN/log"
